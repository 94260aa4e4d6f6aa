#include <cmath>
#include <numeric>

#include "lesson/generate/style.hpp"
#include "ops/catalogue.hpp"
#include "trace/trace.hpp"

namespace qkv::inline lesson {
namespace {

// Chooses d_k near d_model's share per head, but so that √d_k, d_k and √d_model are three different
// divisors, and a weight's shape shows whether it is transposed.
LessonSizes sizes_of(const NewLesson& request) {
  const std::size_t share = request.d_model / std::max<std::size_t>(request.heads, 2);
  std::size_t d_k = std::max<std::size_t>(2, share);
  while (d_k == request.d_model || d_k * d_k == request.d_model) ++d_k;
  return {request.tokens, request.d_model, request.heads, request.heads, d_k};
}

Tensor drawn_from(std::initializer_list<double> likely, const Shape& shape, Dice& dice) {
  Tensor tensor = tensor_of(shape, std::vector<double>(element_count(shape, "a given")));
  for (double& value : tensor.values.mutable_span()) value = dice.pick(likely);
  return tensor;
}

// Adds the steps from the last scores to the output of attention.
void add_output(std::vector<StepRecipe>& steps, const LessonSizes& sizes) {
  steps.push_back({"attention_weights", &softmax_operation, {steps.back().name}, {}});
  steps.push_back({"context", &weighted_sum_operation, {"attention_weights", "V"}, {}});
  if (sizes.heads > 1) steps.push_back({"concat", &concat_heads_operation, {"context"}, {}});
  steps.push_back({"output", &project_operation, {steps.back().name, "W_O"}, {}});
}

Recipe draw(const NewLesson& request, const LessonSizes& sizes, Dice& dice) {
  const auto shape = [&](std::size_t rows, std::size_t columns) {
    return sizes.heads == 1 ? Shape{rows, columns} : Shape{sizes.heads, rows, columns};
  };
  Recipe recipe;
  recipe.tokens = sentence_of(sizes.n);
  recipe.givens.push_back(
      {"X", drawn_from({-1, 0, 0, 1, 1, 2, 2}, {sizes.n, sizes.d_model}, dice)});
  for (const char* name : {"W_Q", "W_K", "W_V"}) {
    recipe.givens.push_back({name, drawn_weight(shape(sizes.d_model, sizes.d_k), dice)});
  }
  recipe.givens.push_back({"W_O", drawn_weight({sizes.heads * sizes.d_k, sizes.d_model}, dice)});
  recipe.steps = {
      {"Q", &project_operation, {"X", "W_Q"}, {}},
      {"K", &project_operation, {"X", "W_K"}, {}},
      {"V", &project_operation, {"X", "W_V"}, {}},
      {"scores", &score_operation, {"Q", "K"}, {}},
      {"scaled_scores", &scale_operation, {"scores"}, Options::of("by", "sqrt(d_k)")},
  };
  if (request.causal) {
    recipe.steps.push_back(
        {"masked_scores", &mask_operation, {"scaled_scores"}, Options::of("kind", "causal")});
  }
  add_output(recipe.steps, sizes);
  return recipe;
}

std::size_t unfit_rows(const Trace& trace, std::initializer_list<const char*> names) {
  std::size_t count = 0;
  for (const char* name : names) {
    count += zero_rows(trace.at(name)) + (has_equal_rows(trace.at(name)) ? 1 : 0);
  }
  return count;
}

// The prose uses the first cell of the second row as an example.
std::size_t zeros_in_examples(const Trace& trace, std::initializer_list<const char*> names) {
  return static_cast<std::size_t>(std::ranges::count_if(
      names, [&](const char* name) { return trace.at(name).at(0, 1, 0) == 0; }));
}

// Penalises numbers unfit for hand work: large scores, equal rows, weights with one dominant key,
// and zeros in the cells that the prose uses as examples.
std::size_t penalty(const Trace& trace) {
  constexpr double largest_score = 12;
  const std::size_t count = equal_pairs(trace.at("context")) +
                            zero_rows(transposed(trace.at("X"))) +
                            larger_than(trace.at("scores"), largest_score) +
                            lopsided_weights(trace.at("attention_weights"));
  return count + unfit_rows(trace, {"X", "Q", "K", "V"}) +
         zeros_in_examples(trace, {"Q", "K", "V", "scores"});
}

constexpr StepProse llama_step_prose[] = {
    {"Q",
     "Each token looks for something. Its row of X times W_Q is its query, {d_k} numbers. For "
     "\"<own>\"<in head> the first of them is {Q[<at>1]}.<of heads>",
     "Q is {Q.shape}: a row for each token, as in X. Only its own row of X went into it."},
    {"K",
     "Each token also says what it has to offer: its row of X times W_K is its key. Keys are as "
     "wide as queries, because the two will be multiplied. The key of \"<own>\"<in head> starts "
     "with {K[<at>1]}.",
     "The query of \"<own>\" starts with {Q[<at>1]}, its key with {K[<at>1]}: one row of X, two "
     "weight matrices."},
    {"V",
     "Each token also gives something to those who look at it: its value, its row of X times W_V. "
     "For \"<own>\"<in head> it starts with {V[<at>1]}.",
     "The largest number in V is {V.max}, the smallest {V.min}. Keep them in mind for context."},
    {"scores",
     "A query times a key, number by number and added up, is a score. It is large where the two "
     "agree.<sharing> For \"<own>\" and \"<first>\"<in head> it is <sum> = {scores[<at><first>]}.",
     "The highest score is {scores.max}, the lowest {scores.min}. A row belongs to a query, a "
     "column to a key."},
    {"scaled_scores",
     "We divide every score by √d_k, the square root of the width of a query. Here d_k is {d_k}, "
     "and {scores[<at><first>]} becomes {scaled_scores[<at><first>]}.",
     "The order in each row stays; only the gaps shrink. The highest is now {scaled_scores.max}."},
    {"masked_scores",
     "No token may look at later ones, so what lies above the diagonal becomes minus infinity. The "
     "row of \"<own>\" keeps its first two numbers, {masked_scores[<at><first>]} and "
     "{masked_scores[<at><own>]}.",
     "The first row keeps one number, the last row all {n}."},
    {"attention_weights",
     "Softmax turns each row into attention weights: raise e to each number, then divide by the "
     "row's sum. \"<own>\" gives {attention_weights[<at><first>]} to \"<first>\" and "
     "{attention_weights[<at><own>]} to itself.",
     "Each row sums to 1<of shares>"},
    {"context",
     "Each token adds up the values, each times its attention weight. The context of \"<own>\"<in "
     "head> starts with {context[<at>1]}.",
     "All of it lies between the smallest and the largest value: from {context.min} to "
     "{context.max}, where V went from {V.min} to {V.max}."},
    {"concat", "The heads go side by side, head 1 first: {concat.shape}. Nothing is computed here.",
     "The row of \"<own>\" starts with {concat[<own>,1]}, as its row in head 1 did."},
    {"output",
     "A last weight matrix, W_O, mixes the columns and takes them back to the width of X, "
     "{d_model}. \"<own>\" ends with {output[<own>,1]} in its first column.",
     "The output has the shape of X, {output.shape}. In X, \"<own>\" had {X[<own>,1]} there.",
     "How is one score worked out?\n\n"
     "    qkv explain <file> 'scores[<head>2,1]'\n\n"
     "Which rows of the output change if the first number of X does?\n\n"
     "    qkv run <file> --set 'X[1,1]=3' --step output\n\n"
     "And now by hand, on paper or in a spreadsheet:\n\n"
     "    qkv worksheet <file> -o mine"},
};

}  // namespace

constinit const NewStyle classic_style{
    .title = "Attention by hand",
    .summary =
        "Small whole numbers to work through with pencil and paper, chosen so that a slip shows.",
    .sizes = sizes_of,
    .draw = draw,
    .penalty = penalty,
    .words = llama_step_prose,
    .query = "Q",
    .key = "K",
    .most_draws = 3000,
    .draws_per_penalty = 3000,
};

namespace {

// The prose of a LLaMA lesson's steps that the classic style lacks, or that have other operands.
constexpr StepProse llama_words[] = {
    {"norm1",
     "A transformer repeats a block: attention, then a small network for each token by itself. "
     "First, each token's row is brought to one size. Square its numbers, take their mean and the "
     "root of that (the root mean square, RMS), and divide the row by it. Then each column is "
     "multiplied by its gain. For \"<own>\", {X[<own>,1]} becomes {norm1[<own>,1]}.",
     "Programs add a tiny number, eps, before they take the root, so that a row of zeros is not "
     "divided by 0; on paper we leave it out. X stays as it is: it is needed again."},
    {"Q",
     "The queries: the normed rows times W_Q, {d_k} numbers for each token. For \"<own>\"<in head> "
     "the first of them is {Q[<at>1]}.<of heads>",
     "Q is {Q.shape}. No bias is added, here or anywhere else in the block."},
    {"K",
     "The keys: the normed rows times W_K, as wide as the queries, because the two will be "
     "multiplied.<grouped> The key of \"<own>\"<in head> starts with {K[<at>1]}.",
     "K is {K.shape}, where Q is {Q.shape}."},
    {"V",
     "The values, which tokens give to those who look at them. There are as many heads of them as "
     "of keys. For \"<own>\"<in head> the first number is {V[<at>1]}.",
     "The largest number in V is {V.max}, the smallest {V.min}. Keep them in mind for context."},
    {"Q_rope",
     "X does not say where a token stands. That comes in here (rotary positions, RoPE). Columns 1 "
     "and 2 are a pair, 3 and 4 the next. Each pair is turned by an angle (in radians): the "
     "token's position, counted from 0, times 1 for the first pair, times 16^(−2/{d_k}) for the "
     "next<further pairs>. With θ for the angle, the pair (a, b) becomes (a·cos θ − b·sin θ, "
     "b·cos θ + a·sin θ). LLaMA has 10000 where we have 16; our second pair turns enough to see.",
     "\"<first>\" stands at position 0 and has not moved. \"<own>\"<in head> had {Q[<at>1]} in "
     "its first place and has {Q_rope[<at>1]}."},
    {"K_rope", "The keys are turned in the same way. The values are not.",
     "The key of \"<own>\"<in head> started with {K[<at>1]} and starts with {K_rope[<at>1]}."},
    {"output",
     "W_O mixes the columns and takes them back to the width of X, {d_model}. \"<own>\" has "
     "{output[<own>,1]} in its first column.",
     "This is what attention adds to each token."},
    {"residual1",
     "The output is added to X itself, not to the normed rows. This is called a residual "
     "connection. \"<own>\" had {X[<own>,1]} in its first place and now has {residual1[<own>,1]}.",
     "The sum itself is never normed: the next step makes a copy of one size, as norm1 did."},
    {"norm2",
     "Now the small network, in which no token looks at another. Again the rows are brought to one "
     "size first, with a gain of their own: {residual1[<own>,1]} becomes {norm2[<own>,1]}.",
     "These roots are not round; three decimals will do."},
    {"gate",
     "Two projections start from here. The first is the gate, which will say how much to let "
     "through: for \"<own>\" it starts with {gate[<own>,1]}.",
     "The gate is {gate.shape}. LLaMA makes it about 2.7 times as wide as X; ours is small, so "
     "that there is less to do."},
    {"up",
     "The second, up, is what may come through: the same rows, another matrix. For \"<own>\" it "
     "starts with {up[<own>,1]}.",
     "For each number of up there is one of the gate."},
    {"silu",
     "The gate goes through SiLU: x / (1 + e^(−x)). A large positive number stays nearly what it "
     "is, a large negative one becomes nearly 0. {gate[<own>,1]} becomes {silu[<own>,1]}.",
     "None is below −0.2785."},
    {"gated",
     "Gate and up are multiplied, number by number (SwiGLU): {silu[<own>,1]} · {up[<own>,1]} = "
     "{gated[<own>,1]} for the first of \"<own>\".",
     "Where the gate is near 0, little is left."},
    {"mlp_out",
     "W_down takes the rows back to the width of X. The change that it proposes for \"<own>\" "
     "starts with {mlp_out[<own>,1]}.",
     "mlp_out is {mlp_out.shape}, like X."},
    {"residual2",
     "The second residual: the change is added to what came out of the first half. \"<own>\" came "
     "in with {X[<own>,1]} in its first place and goes out with {residual2[<own>,1]}.",
     "This is the block's result, and the next block's X.",
     "How is one score worked out, and which head of keys does it use?\n\n"
     "    qkv explain <file> 'scores[<head>2,1]'\n\n"
     "What if the first row is ten times as large: does its row of norm1 change?\n\n"
     "    qkv run <file> --set 'X[1,1]=30' --step norm1\n\n"
     "And now by hand, on paper or in a spreadsheet:\n\n"
     "    qkv worksheet <file> -o mine"},
};

// d_k is even and at least 4: with only one rotated pair, neither base nor pairing would show. It
// differs from the other sizes, so that dividing by a wrong one shows.
std::size_t width_of_queries(std::size_t n, std::size_t d_model) {
  std::size_t d_k = 4;
  while (d_k == n || d_k == d_model || d_k * d_k == d_model) d_k += 2;
  return d_k;
}

LessonSizes llama_sizes(const NewLesson& request) {
  const std::size_t key_heads = request.key_heads != 0   ? request.key_heads
                                : request.heads % 2 == 0 ? request.heads / 2
                                                         : 1;
  return {.n = request.tokens,
          .d_model = request.d_model,
          .heads = request.heads,
          .key_heads = key_heads,
          .d_k = width_of_queries(request.tokens, request.d_model),
          .d_ff = request.d_model == 3 ? std::size_t{4} : std::size_t{3}};
}

// True if the root mean square of a row is a whole number or ends in a half.
bool has_round_size(std::span<const double> row) {
  const double squares = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
  const double halves = 2 * std::sqrt(squares / static_cast<double>(row.size()));
  return squares > 0 && std::abs(halves - std::round(halves)) < 1e-9;
}

// Redraws a row until its root mean square is round, so that dividing by it works on paper. Rows of
// two or three numbers just must not be 0: those with a round size would be all alike.
void draw_row(std::span<double> row, Dice& dice) {
  constexpr std::array<double, 9> likely = {-2, -1, 0, 0, 1, 1, 2, 3, 4};
  constexpr std::size_t fewest_round = 4, most_tries = 200;
  for (std::size_t k = 0; k < most_tries; ++k) {
    for (double& value : row) value = dice.pick(likely);
    if (row.size() < fewest_round ? row[k % row.size()] != 0 : has_round_size(row)) return;
  }
}

Tensor llama_embeddings(const LessonSizes& sizes, Dice& dice) {
  std::vector<double> values(sizes.n * sizes.d_model);
  for (std::size_t i = 0; i < sizes.n; ++i) {
    draw_row(std::span(values).subspan(i * sizes.d_model, sizes.d_model), dice);
  }
  return tensor_of({sizes.n, sizes.d_model}, std::move(values));
}

Tensor gain(const LessonSizes& sizes, Dice& dice) {
  return drawn_from({0.5, 1, 2, 2}, {sizes.d_model}, dice);
}

std::vector<Given> drawn_givens(const LessonSizes& sizes, Dice& dice) {
  const auto shape = [&](std::size_t heads) {
    return sizes.heads == 1 ? Shape{sizes.d_model, sizes.d_k}
                            : Shape{heads, sizes.d_model, sizes.d_k};
  };
  std::vector<Given> givens;
  givens.push_back({"X", llama_embeddings(sizes, dice)});
  givens.push_back({"gain1", gain(sizes, dice)});
  givens.push_back({"W_Q", drawn_weight(shape(sizes.heads), dice)});
  givens.push_back({"W_K", drawn_weight(shape(sizes.key_heads), dice)});
  givens.push_back({"W_V", drawn_weight(shape(sizes.key_heads), dice)});
  givens.push_back({"W_O", drawn_weight({sizes.heads * sizes.d_k, sizes.d_model}, dice)});
  givens.push_back({"gain2", gain(sizes, dice)});
  givens.push_back({"W_gate", drawn_weight({sizes.d_model, sizes.d_ff}, dice)});
  givens.push_back({"W_up", drawn_weight({sizes.d_model, sizes.d_ff}, dice)});
  givens.push_back({"W_down", drawn_weight({sizes.d_ff, sizes.d_model}, dice)});
  return givens;
}

std::vector<StepRecipe> attention_steps(const LessonSizes& sizes) {
  // With LLaMA's base of 10000 the second pair would hardly rotate within three tokens.
  const Options rope_options = Options::of("base", 16.0);
  std::vector<StepRecipe> steps = {
      {"norm1", &rms_norm_operation, {"X", "gain1"}, Options::of("eps", 0.0)},
      {"Q", &project_operation, {"norm1", "W_Q"}, {}},
      {"K", &project_operation, {"norm1", "W_K"}, {}},
      {"V", &project_operation, {"norm1", "W_V"}, {}},
      {"Q_rope", &rope_operation, {"Q"}, rope_options},
      {"K_rope", &rope_operation, {"K"}, rope_options},
      {"scores", &score_operation, {"Q_rope", "K_rope"}, {}},
      {"scaled_scores", &scale_operation, {"scores"}, Options::of("by", "sqrt(d_k)")},
      {"masked_scores", &mask_operation, {"scaled_scores"}, Options::of("kind", "causal")},
  };
  add_output(steps, sizes);
  steps.push_back({"residual1", &add_operation, {"X", "output"}, {}});
  return steps;
}

Recipe draw_llama(const NewLesson&, const LessonSizes& sizes, Dice& dice) {
  Recipe recipe;
  recipe.tokens = sentence_of(sizes.n);
  recipe.givens = drawn_givens(sizes, dice);
  recipe.steps = attention_steps(sizes);
  const std::vector<StepRecipe> network = {
      {"norm2", &rms_norm_operation, {"residual1", "gain2"}, Options::of("eps", 0.0)},
      {"gate", &project_operation, {"norm2", "W_gate"}, {}},
      {"up", &project_operation, {"norm2", "W_up"}, {}},
      {"silu", &silu_operation, {"gate"}, {}},
      {"gated", &multiply_operation, {"silu", "up"}, {}},
      {"mlp_out", &project_operation, {"gated", "W_down"}, {}},
      {"residual2", &add_operation, {"residual1", "mlp_out"}, {}},
  };
  recipe.steps.insert(recipe.steps.end(), network.begin(), network.end());
  return recipe;
}

// Penalises the same as `penalty`, and gates that are fully closed or open.
std::size_t llama_penalty(const Trace& trace) {
  constexpr double largest_score = 15, largest_gate = 6, largest_result = 30;
  const std::size_t count = zero_rows(transposed(trace.at("X"))) +
                            larger_than(trace.at("scores"), largest_score) +
                            larger_than(trace.at("gate"), largest_gate) +
                            larger_than(trace.at("residual2"), largest_result) +
                            lopsided_weights(trace.at("attention_weights"));
  return count + unfit_rows(trace, {"X", "Q", "K", "V", "gate", "up"}) +
         zeros_in_examples(trace, {"X", "Q", "K", "V", "scores", "gate", "up", "mlp_out"});
}

}  // namespace

constinit const NewStyle llama_style{
    .title = "A block as LLaMA has it, by hand",
    .summary =
        "RMSNorm, shared keys, rotary positions and SwiGLU in small numbers for pencil and "
        "paper, chosen so that a slip shows.",
    .sizes = llama_sizes,
    .draw = draw_llama,
    .penalty = llama_penalty,
    .words = llama_words,
    .query = "Q_rope",
    .key = "K_rope",
    .most_draws = 1000,
    .draws_per_penalty = 10,
};

}  // namespace qkv::inline lesson
