#include "model/step_prose.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace qkv::inline model {
namespace {

// The prose of one step, by its name without the layer.
struct StepWords {
  std::string_view step;
  ModelWords words;
};

// Of steps that only LLaMA's relatives have or that differ there.
constexpr StepWords llama_entries[] = {
    {"X",
     {"Start the residual stream",
      "These rows flow through the layers: each part of a layer reads them and adds something to "
      "them. They are called the residual stream. They do not say where a token stands: queries "
      "and keys will get that later. The layers are numbered from 0, as in the model's file: names "
      "that begin with h0 belong to the first. Heads, rows and columns are counted from 1.",
      "Equal tokens still have equal rows here."}},
    {"norm1",
     {"Normalise each row for attention",
      "Each row is divided by the root of its mean square, then multiplied by a trained gain. So "
      "attention gets numbers of the same size in every layer. The mean is not subtracted: this is "
      "an RMS norm.",
      "The residual stream itself stays as it is: only this copy is normalised."}},
    {"K",
     {"Make the keys",
      "The same rows times W_K are the keys. If there are fewer heads of keys than of queries, "
      "several query heads use the same keys.",
      "Keys are as wide as queries, since the two will be multiplied."}},
    {"V",
     {"Make the values",
      "The same rows times W_V are the values: what a token gives to those that look at it. There "
      "are as many heads of values as of keys.",
      "Values do not change where a token looks."}},
    {"Q_norm",
     {"Normalise the queries",
      "Each query is divided by the root of its mean square and multiplied by a gain that all "
      "heads share. So no query can get too large, and scores stay of one size.",
      "Each row of each head is normalised by itself."}},
    {"K_norm",
     {"Normalise the keys", "Keys are normalised in the same way, with a gain of their own.",
      "From here on only a key's direction and the gain count, not its length."}},
    {"Q_rope",
     {"Turn the queries by their positions (RoPE)",
      "The columns of a query are taken in pairs: column i with the column half a row further. "
      "Each pair is turned by an angle that grows with the token's position, fast in the first "
      "pair and slowly in the last.",
      "The first token is at position 0: its row is not turned."}},
    {"K_rope",
     {"Turn the keys by their positions (RoPE)",
      "Keys are turned in the same way. The dot product of a turned query and a turned key depends "
      "on the difference of their angles: on the distance of the two tokens, not on where they "
      "stand.",
      "To turn a pair does not change its length."}},
    {"scores",
     {"Score every query with every key",
      "Row i, column j is the dot product of token i's query and token j's key. It is large where "
      "the two, after both have been turned, point the same way.",
      "A row belongs to a query, a column to a key."}},
    {"scaled_scores",
     {"Scale the scores",
      "A sum of d_k products grows with d_k. The division keeps softmax from giving everything to "
      "one token.",
      "The order within a row stays."}},
    {"capped_scores",
     {"Cap the scores",
      "Each score becomes cap · tanh(score / cap): small scores hardly change, and none exceeds "
      "the cap.",
      "The order within a row stays."}},
    {"masked_scores",
     {"Hide the keys that must not be seen",
      "The model writes from left to right, so a token may look at itself and at earlier tokens. "
      "Later tokens get −∞. In a layer with a sliding window, tokens too far back get −∞, too.",
      "The first token sees only itself."}},
    {"norm1_out",
     {"Normalise the output of attention",
      "What will be added to the residual stream is normalised as well, with a gain of its own.",
      "Now only the gain decides how much attention adds."}},
    {"norm2",
     {"Normalise each row for the MLP",
      "The rows are normalised as before attention, with a gain of its own.",
      "This is a copy again: the residual stream stays as it is."}},
    {"gate",
     {"Make the gate",
      "Each token's row is multiplied by W_gate, without the other tokens. Each column is a "
      "pattern that training has found useful.",
      "Tokens do not mix here."}},
    {"up",
     {"Make the values behind the gate",
      "The same rows times W_up say what each pattern contributes.",
      "It is as wide as the gate: each column has its gate."}},
    {"silu",
     {"Apply the activation to the gate",
      "SiLU is x times sigmoid(x). Large positive numbers hardly change, large negative ones "
      "become nearly 0.",
      "Where it is nearly 0, the gate is shut."}},
    {"gelu",
     {"Apply the activation to the gate",
      "GELU hardly changes large positive numbers and turns large negative ones into nearly 0.",
      "Where it is nearly 0, the gate is shut."}},
    {"gated",
     {"Multiply by the gate", "Each value is multiplied by its gate, cell by cell.",
      "Often few columns have large numbers."}},
    {"mlp_out",
     {"Make the output of the MLP",
      "The gated values times W_down are what the MLP adds to the residual stream.",
      "It is as wide as the residual stream again."}},
    {"norm2_out",
     {"Normalise the output of the MLP",
      "The rows are normalised as after attention, with a gain of its own.",
      "Now only the gain decides how much the MLP adds."}},
    {"norm",
     {"Normalise the last rows",
      "Each row is divided by the root of its mean square once more and multiplied by a gain, "
      "before the logits are made.",
      "From here on each row is about the next token."}},
    {"capped_logits",
     {"Cap the logits", "Each logit becomes cap · tanh(logit / cap), so that none exceeds the cap.",
      "The order stays, and so does the likeliest token."}},
};

constexpr StepWords entries[] = {
    {"token_ids",
     {"Cut the text into the model's tokens",
      "The model knows a fixed list of tokens, its vocabulary. The text is cut into tokens of that "
      "list. Each token becomes its id: its place in the list, counted from 0.",
      "The same token has the same id wherever it stands."}},
    {"token_embeddings",
     {"Look up the token embeddings",
      "Training has given every token of the vocabulary a row of numbers, its embedding. Each "
      "token of the text takes the row of its id.",
      "Equal tokens have equal rows: nothing says yet where a token stands."}},
    {"position_embeddings",
     {"Look up the position embeddings",
      "Training has also given every position a row of numbers. The first token gets the first "
      "row, whatever token it is.",
      "These rows are the same for every text."}},
    {"X",
     {"Add token and position embeddings",
      "The two embeddings are added. These rows flow through the layers: each part of a layer "
      "reads them and adds something to them. They are called the residual stream. The layers are "
      "numbered from 0, as in the model's file: names that begin with h0 belong to the first. "
      "Heads, rows and columns are counted from 1.",
      "Equal tokens at different positions now have different rows."}},
    {"norm1",
     {"Normalise each row for attention",
      "Each row is shifted to mean 0 and scaled to variance 1. Then it is multiplied by a trained "
      "gain, and a trained bias is added. So attention gets numbers of the same size in every "
      "layer.",
      "The residual stream itself stays as it is: only this copy is normalised."}},
    {"Q",
     {"Make the queries",
      "Each token's row times W_Q is its query: what the token looks for. Each head has a W_Q of "
      "its own.",
      "There is a matrix for each head: the heads look for different things."}},
    {"K",
     {"Make the keys",
      "The same rows times W_K are the keys. A query will be compared with every key of its own "
      "head.",
      "Keys are as wide as queries, since the two will be multiplied."}},
    {"V",
     {"Make the values",
      "The same rows times W_V are the values: what a token gives to those that look at it.",
      "Values do not change where a token looks."}},
    {"scores",
     {"Score every query with every key",
      "Row i, column j is the dot product of token i's query and token j's key. It is large where "
      "the two point the same way.",
      "A row belongs to a query, a column to a key."}},
    {"scaled_scores",
     {"Divide the scores by √d_k",
      "A sum of d_k products grows with d_k. Dividing by √d_k keeps softmax from giving everything "
      "to one token.",
      "The order within a row stays."}},
    {"masked_scores",
     {"Hide the later tokens",
      "The model writes from left to right, so a token may look at itself and at earlier tokens. "
      "Later tokens get −∞.",
      "The first token sees only itself."}},
    {"attention_weights",
     {"Turn scores into attention weights",
      "Softmax turns each row into attention weights: positive numbers that sum to 1. They say "
      "how a token divides its attention.",
      "This shows what a head does: a token may look mostly at the one before it, at the first, or "
      "at tokens equal to it."}},
    {"context",
     {"Mix the values", "Each row is the sum of the values, each times its attention weight.",
      "A token that looks only at one other token gets that token's value."}},
    {"concat",
     {"Join the heads", "The heads' columns are put side by side, head 1 first.",
      "The first columns are head 1's, the next ones head 2's."}},
    {"output",
     {"Make the output of attention",
      "The joined row times W_O is what attention adds to the residual stream.",
      "It is as wide as the residual stream again."}},
    {"residual1",
     {"Add attention to the residual stream",
      "The output of attention is added to the rows that came into the layer.",
      "The earlier numbers are still part of each row."}},
    {"norm2",
     {"Normalise each row for the MLP",
      "The rows are normalised as before attention, with a gain and a bias of its own.",
      "This is a copy again: the residual stream stays as it is."}},
    {"mlp_in",
     {"Make the hidden layer of the MLP",
      "Each token's row is multiplied by W_in, without the other tokens. The result is usually "
      "four times as wide. Each column is a pattern that training has found useful.",
      "Tokens do not mix here."}},
    {"relu",
     {"Apply ReLU", "ReLU lets positive numbers pass and turns negative ones into 0.",
      "Each 0 is a pattern that was not there."}},
    {"gelu",
     {"Apply GELU",
      "GELU hardly changes large positive numbers and turns large negative ones into nearly 0.",
      "Often few columns have large numbers."}},
    {"mlp_out",
     {"Make the output of the MLP",
      "These numbers times W_out are what the MLP adds to the residual stream.",
      "It is as wide as the residual stream again."}},
    {"residual2",
     {"Add the MLP to the residual stream",
      "The result of the layer is the sum of its input, the output of attention and the output of "
      "the MLP.",
      "The next layer starts from these rows."}},
    {"norm",
     {"Normalise the last rows",
      "Each row gets mean 0 and variance 1 once more, then a gain and a bias, before the logits "
      "are made.",
      "From here on each row is about the next token."}},
    {"logits",
     {"Make a logit for every token of the vocabulary",
      "Each row is multiplied with the weights of each token of the vocabulary. The larger this "
      "logit, the likelier that token comes next.",
      "There is one column for each token of the vocabulary."}},
    {"probabilities",
     {"Turn logits into probabilities",
      "Softmax turns each row of logits into probabilities: how likely each token is to come next.",
      "After the whole text, the likeliest next: {probabilities.likeliest}."}},
};

}  // namespace

const ModelWords& model_words(std::string_view step, ModelKind kind) {
  const auto* own = std::ranges::find(llama_entries, step, &StepWords::step);
  if (kind == ModelKind::llama && own != std::end(llama_entries)) return own->words;
  const auto found = std::ranges::find(entries, step, &StepWords::step);
  if (found == std::end(entries)) {
    throw std::logic_error("no words for the model's step " + std::string(step));
  }
  return found->words;
}

}  // namespace qkv::inline model
