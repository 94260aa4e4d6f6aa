#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "lesson/generate/style.hpp"
#include "lesson/generate/styles.hpp"
#include "ops/catalogue.hpp"
#include "trace/trace.hpp"

namespace qkv {
namespace {

// The width of a query is even, with two pairs to turn at least: with one, neither base nor pairing
// would show. It is unlike the other sizes, so that dividing by a wrong one shows.
std::size_t width_of_queries(std::size_t n, std::size_t d_model) {
  std::size_t d_k = 4;
  while (d_k == n || d_k == d_model || d_k * d_k == d_model) d_k += 2;
  return d_k;
}

LessonSizes sizes_of(const NewLesson& wishes) {
  const std::size_t key_heads = wishes.key_heads != 0   ? wishes.key_heads
                                : wishes.heads % 2 == 0 ? wishes.heads / 2
                                                        : 1;
  return {.n = wishes.tokens,
          .d_model = wishes.d_model,
          .heads = wishes.heads,
          .key_heads = key_heads,
          .d_k = width_of_queries(wishes.tokens, wishes.d_model),
          .d_ff = wishes.d_model == 3 ? std::size_t{4} : std::size_t{3}};
}

// The root of a row's mean square is a whole number or ends in a half.
bool has_round_size(std::span<const double> row) {
  const double squares = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
  const double halves = 2 * std::sqrt(squares / static_cast<double>(row.size()));
  return squares > 0 && std::abs(halves - std::round(halves)) < 1e-9;
}

// A row is drawn anew until it has a round size, so that it can be divided by it on paper. What few
// rows of two or three numbers have is left aside: they would be all alike.
void draw_row(std::span<double> row, Dice& dice) {
  constexpr std::array<double, 9> likely = {-2, -1, 0, 0, 1, 1, 2, 3, 4};
  constexpr std::size_t fewest_round = 4, most_tries = 200;
  for (std::size_t k = 0; k < most_tries; ++k) {
    for (double& value : row) value = dice.pick(likely);
    if (row.size() < fewest_round ? row[k % row.size()] != 0 : has_round_size(row)) return;
  }
}

Tensor embeddings(const LessonSizes& sizes, Dice& dice) {
  std::vector<double> values(sizes.n * sizes.d_model);
  for (std::size_t i = 0; i < sizes.n; ++i) {
    draw_row(std::span(values).subspan(i * sizes.d_model, sizes.d_model), dice);
  }
  return tensor_of({sizes.n, sizes.d_model}, std::move(values));
}

Tensor gain(const LessonSizes& sizes, Dice& dice) {
  constexpr std::array<double, 4> likely = {0.5, 1, 2, 2};
  std::vector<double> values(sizes.d_model);
  for (double& value : values) value = dice.pick(likely);
  return tensor_of({sizes.d_model}, std::move(values));
}

std::vector<Given> drawn_givens(const LessonSizes& sizes, Dice& dice) {
  const auto shape = [&](std::size_t heads) {
    return sizes.heads == 1 ? Shape{sizes.d_model, sizes.d_k}
                            : Shape{heads, sizes.d_model, sizes.d_k};
  };
  std::vector<Given> givens;
  givens.push_back({"X", embeddings(sizes, dice)});
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
  // A base of 10000, as LLaMA's, would hardly turn the second pair of three tokens.
  const Options turning = option("base", 16.0);
  std::vector<StepRecipe> steps = {
      {"norm1", &rms_norm_operation, {"X", "gain1"}, option("eps", 0.0)},
      {"Q", &project_operation, {"norm1", "W_Q"}, {}},
      {"K", &project_operation, {"norm1", "W_K"}, {}},
      {"V", &project_operation, {"norm1", "W_V"}, {}},
      {"Q_rope", &rope_operation, {"Q"}, turning},
      {"K_rope", &rope_operation, {"K"}, turning},
      {"scores", &score_operation, {"Q_rope", "K_rope"}, {}},
      {"scaled_scores", &scale_operation, {"scores"}, option("by", "sqrt(d_k)")},
      {"masked_scores", &mask_operation, {"scaled_scores"}, option("kind", "causal")},
      {"attention_weights", &softmax_operation, {"masked_scores"}, {}},
      {"context", &weighted_sum_operation, {"attention_weights", "V"}, {}},
  };
  if (sizes.heads > 1) steps.push_back({"concat", &concat_heads_operation, {"context"}, {}});
  steps.push_back({"output", &project_operation, {steps.back().name, "W_O"}, {}});
  steps.push_back({"residual1", &add_operation, {"X", "output"}, {}});
  return steps;
}

Recipe draw(const NewLesson&, const LessonSizes& sizes, Dice& dice) {
  Recipe recipe;
  recipe.tokens = sentence_of(sizes.n);
  recipe.givens = drawn_givens(sizes, dice);
  recipe.steps = attention_steps(sizes);
  const std::vector<StepRecipe> network = {
      {"norm2", &rms_norm_operation, {"residual1", "gain2"}, option("eps", 0.0)},
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

// Scores of a few units, rows that differ, weights in which more than one key has a say, gates
// that neither close nor stand wide open. What the words take for their example is not 0.
std::size_t nuisances(const Trace& trace) {
  constexpr double largest_score = 15, largest_gate = 6, largest_result = 30;
  std::size_t count = zero_rows(transposed(trace.at("X"))) +
                      larger_than(trace.at("scores"), largest_score) +
                      larger_than(trace.at("gate"), largest_gate) +
                      larger_than(trace.at("residual2"), largest_result) +
                      lopsided_weights(trace.at("attention_weights"));
  for (const char* name : {"X", "Q", "K", "V", "gate", "up"}) {
    count += zero_rows(trace.at(name)) + (has_equal_rows(trace.at(name)) ? 1 : 0);
  }
  for (const char* name : {"X", "Q", "K", "V", "scores", "gate", "up", "mlp_out"}) {
    if (trace.at(name).at(0, 1, 0) == 0) ++count;
  }
  return count;
}

}  // namespace

constinit const NewStyle llama_style{
    .title = "A block as LLaMA has it, by hand",
    .summary =
        "RMSNorm, shared keys, rotary positions and SwiGLU in small numbers for pencil and "
        "paper, chosen so that a slip shows.",
    .sizes = sizes_of,
    .draw = draw,
    .nuisances = nuisances,
    .words = llama_words,
    .query = "Q_rope",
    .key = "K_rope",
    .most_draws = 1000,
    .patience = 10,
};

}  // namespace qkv
