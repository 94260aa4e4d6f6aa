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
     {"What flows through the layers",
      "These rows are what flows through the layers: each part of a layer reads them and adds "
      "something to them. They are called the residual stream. Nothing is added for where a token "
      "stands: queries and keys will be told that. The layers are numbered from 0, as in the "
      "model's "
      "file: names that begin with h0 belong to the first. Heads, rows and columns are counted "
      "from 1.",
      "Equal tokens still have equal rows here."}},
    {"norm1",
     {"Even out each row before attention",
      "Each row is divided by the root of its mean square, then multiplied by a trained gain. So "
      "attention meets numbers of the same size in every layer. The mean is not subtracted: this "
      "is an RMS norm.",
      "The stream itself stays as it is: only this copy is evened out."}},
    {"K",
     {"Keys: what each token can be found by",
      "The same rows times W_K. Where there are fewer heads of keys than of queries, several heads "
      "of queries compare themselves with the same keys.",
      "As wide as queries, since they are to be multiplied."}},
    {"V",
     {"Values: what each token hands over",
      "The same rows times W_V: what a token gives to those that look at it. As many heads as keys "
      "have.",
      "Values take no part in the choice of where to look."}},
    {"Q_norm",
     {"Even out the queries",
      "Each query is divided by the root of its mean square and multiplied by a gain that all "
      "heads share. So no query can grow without bound, and scores stay of one size.",
      "Each head's rows are evened out by themselves."}},
    {"K_norm",
     {"Even out the keys", "The same for keys, with a gain of their own.",
      "From here on only the direction of a key tells, and the gain."}},
    {"Q_rope",
     {"Turn the queries by where they stand",
      "The columns of a query go in pairs, column i with the one half a row further. Each pair is "
      "turned like the hand of a clock: by an angle that grows with the token's place, fast in the "
      "first pair and slowly in the last.",
      "The first token stands at place 0: its row is not turned."}},
    {"K_rope",
     {"Turn the keys by where they stand",
      "Keys are turned in the same way. When a turned query meets a turned key, what counts is the "
      "difference of their angles: how far apart the two tokens stand, wherever that is.",
      "Turning changes no row's length."}},
    {"scores",
     {"Scores: how well each query fits each key",
      "Row i, column j is the product of token i's query and token j's key: large where the two "
      "point the same way after both have been turned.",
      "A row belongs to the token that looks, a column to the token that is looked at."}},
    {"scaled_scores",
     {"Scale the scores",
      "A product of d_k terms grows with d_k. Dividing keeps softmax from giving everything to one "
      "token.",
      "The order within a row stays."}},
    {"capped_scores",
     {"Cap the scores",
      "Each score goes through cap · tanh(score / cap): small ones hardly change, and none gets "
      "beyond the cap.",
      "The order within a row stays."}},
    {"masked_scores",
     {"Hide what is not to be seen",
      "The model writes from left to right, so a token may look at itself and at what stands "
      "before "
      "it. What comes later gets −∞; in a layer with a sliding window, what stands too far back "
      "does, too.",
      "The first token sees only itself."}},
    {"norm1_out",
     {"Even out what attention proposes",
      "What is to be added to the stream is evened out as well, with a gain of its own.",
      "Now the gain alone says how much attention adds."}},
    {"norm2",
     {"Even out each row before the MLP", "As before attention, with a gain of its own.",
      "Again only a copy: the stream stays."}},
    {"gate",
     {"The gate: which patterns are there",
      "Each token by itself: its row times W_gate. Each column is a pattern that training has "
      "found worth looking for.",
      "Tokens do not mix here."}},
    {"up",
     {"The values behind the gate", "The same rows times W_up: what each pattern is to contribute.",
      "As wide as the gate, column by column."}},
    {"silu",
     {"Open the gate",
      "SiLU, x times sigmoid(x), lets large positive numbers pass and turns negative ones into "
      "nearly 0.",
      "Where it is nearly 0 the gate is shut."}},
    {"gelu",
     {"Open the gate",
      "GELU lets large positive numbers pass and turns negative ones into nearly 0.",
      "Where it is nearly 0 the gate is shut."}},
    {"gated",
     {"What passes the gate", "Cell by cell, the gate times the value behind it.",
      "Most of what is left comes from few columns."}},
    {"mlp_out",
     {"The MLP's second layer",
      "What passed, times W_down, is what the MLP proposes to add to the stream.",
      "As wide as the stream again."}},
    {"norm2_out",
     {"Even out what the MLP proposes", "As after attention, with a gain of its own.",
      "Now the gain alone says how much the MLP adds."}},
    {"norm",
     {"Even out the last rows",
      "Once more each row by the root of its mean square, and a gain, before the stream is read "
      "out.",
      "From here on each row is about the token to come."}},
    {"capped_logits",
     {"Cap the logits",
      "Each goes through cap · tanh(logit / cap), so that none gets beyond the cap.",
      "The order stays, and with it the likeliest token."}},
};

constexpr StepWords entries[] = {
    {"token_ids",
     {"Cut the text into the model's tokens",
      "The model knows a fixed list of tokens, its vocabulary. The text is cut into tokens of that "
      "list, and each becomes its id: its place in the list, counted from 0.",
      "The same token has the same id wherever it stands."}},
    {"token_embeddings",
     {"Look up what each token means",
      "Training has given every token of the vocabulary a row of numbers, its embedding. Each "
      "token of the text fetches the row of its id.",
      "Equal tokens have equal rows: so far nothing tells where a token stands."}},
    {"position_embeddings",
     {"Look up where each token stands",
      "Training has also given every position a row of numbers. The first token gets the first "
      "row, whatever it says.",
      "These rows are the same for every text."}},
    {"X",
     {"What and where, in one row",
      "Meaning and position are added. This row is what flows through the layers: each part of a "
      "layer reads it and adds something to it. It is called the residual stream. The layers are "
      "numbered from 0, as in the model's file: names that begin with h0 belong to the first. "
      "Heads, rows and columns are counted from 1.",
      "Equal tokens at different places now have different rows."}},
    {"norm1",
     {"Even out each row before attention",
      "Each row is shifted to mean 0 and scaled to spread 1, then multiplied by a trained gain and "
      "shifted by a trained bias. So attention meets numbers of the same size in every layer.",
      "The stream itself stays as it is: only this copy is evened out."}},
    {"Q",
     {"Queries: what each token looks for",
      "Each head has weights of its own. Each token's row times W_Q is its query in that head.",
      "One matrix for each head: the heads look for different things."}},
    {"K",
     {"Keys: what each token can be found by",
      "The same rows times W_K. A query will be compared with every key of its own head.",
      "Queries and keys are equally wide, since they are to be multiplied."}},
    {"V",
     {"Values: what each token hands over",
      "The same rows times W_V: what a token gives to those that look at it.",
      "Values take no part in the choice of where to look."}},
    {"scores",
     {"Scores: how well each query fits each key",
      "Row i, column j is the product of token i's query and token j's key: large where the two "
      "point the same way.",
      "A row belongs to the token that looks, a column to the token that is looked at."}},
    {"scaled_scores",
     {"Scale by √d_k",
      "A product of d_k terms grows with d_k. Dividing by √d_k keeps softmax from giving "
      "everything to one token.",
      "The order within a row stays."}},
    {"masked_scores",
     {"Hide what comes later",
      "The model writes from left to right, so a token may look at itself and at what stands "
      "before it. What comes later gets −∞.",
      "The first token sees only itself."}},
    {"attention_weights",
     {"Softmax: shares of attention",
      "Each row becomes positive numbers that add up to 1: how the token's attention is shared "
      "out.",
      "Here one can see what a head does: whether a token looks mostly at the one before it, at "
      "the first, or at tokens that are equal to it."}},
    {"context",
     {"Mix the values",
      "Each row is the mean of the values that the token looks at, weighted by its attention.",
      "A token that looks at one other alone takes over that one's value."}},
    {"concat",
     {"Join the heads", "What the heads have found is put side by side, head 1 first.",
      "The columns belong to the heads in turn."}},
    {"output",
     {"Mix what the heads found",
      "The joined row times W_O is what attention proposes to add to the stream.",
      "It is as wide as the stream again."}},
    {"residual1",
     {"Add it to the stream",
      "Attention replaces nothing: its proposal is added to what was there.",
      "What the token was is still part of the row."}},
    {"norm2",
     {"Even out each row before the MLP", "As before attention, with a gain and a bias of its own.",
      "Again only a copy: the stream stays."}},
    {"mlp_in",
     {"The MLP's first layer",
      "Each token by itself: its row times W_in, usually four times as wide. Each column is a "
      "pattern that training has found worth looking for.",
      "Tokens do not mix here."}},
    {"relu",
     {"Keep what was found", "ReLU lets positive numbers pass and turns negative ones into 0.",
      "Each 0 is a pattern that was not there."}},
    {"gelu",
     {"Keep what was found",
      "GELU lets large positive numbers pass and turns negative ones into nearly 0.",
      "Most of what is left comes from few columns."}},
    {"mlp_out",
     {"The MLP's second layer",
      "What was found, times W_out, is what the MLP proposes to add to the stream.",
      "As wide as the stream again."}},
    {"residual2",
     {"Add it to the stream",
      "The layer's result: what came in, what attention added, and what the MLP added.",
      "The next layer reads this."}},
    {"norm",
     {"Even out the last rows",
      "Once more mean 0, spread 1, gain and bias, before the stream is read out.",
      "From here on each row is about the token to come."}},
    {"logits",
     {"A score for every token of the vocabulary",
      "Each row is compared with a row of weights for each token of the vocabulary: the larger the "
      "product, the likelier that token comes next.",
      "One column for each token of the vocabulary."}},
    {"probabilities",
     {"Softmax: what comes next",
      "The scores become shares of 1: how likely each token is to come after the one that its row "
      "belongs to.",
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
