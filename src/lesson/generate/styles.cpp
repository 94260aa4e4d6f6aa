#include "lesson/generate/new_lesson.hpp"

#include <numeric>

namespace qkv::inline lesson {
namespace {

// A row of zeros would hide every slip in the matrix that it is multiplied by.
void fill_empty_rows(std::span<double> cells, std::size_t columns) {
  for (std::size_t i = 0; i < cells.size() / columns; ++i) {
    const std::span<double> row = cells.subspan(i * columns, columns);
    if (std::ranges::all_of(row, [](double x) { return x == 0; })) row[i % columns] = 1;
  }
}

// Draws a weight with two or three nonzero numbers per column and no zero row. A product then has
// as many terms for any model width.
Tensor drawn_weight(const Shape& shape, LessonDice& dice) {
  constexpr std::array<double, 4> likely = {-1, 1, 1, 2};
  Tensor tensor = tensor_of(shape, std::vector<double>(element_count(shape, "a weight")));
  for (std::size_t m = 0; m < tensor.matrices(); ++m) {
    const std::span<double> cells = tensor.mutable_cells(m);
    for (std::size_t j = 0; j < tensor.columns(); ++j) {
      const std::size_t terms = 2 + dice.below(2);
      for (std::size_t t = 0; t < terms; ++t) {
        cells[dice.below(tensor.rows()) * tensor.columns() + j] = dice.pick(likely);
      }
    }
    fill_empty_rows(cells, tensor.columns());
  }
  return tensor;
}

// True if two rows of the first matrix are equal.
bool has_equal_rows(const Tensor& tensor) {
  const std::size_t columns = tensor.columns();
  for (std::size_t i = 0; i < tensor.rows(); ++i) {
    const auto row = tensor.cells(0).subspan(i * columns, columns);
    for (std::size_t k = 0; k < i; ++k) {
      if (std::ranges::equal(row, tensor.cells(0).subspan(k * columns, columns))) return true;
    }
  }
  return false;
}

// Returns the number of rows of zeros, which leave nothing to calculate.
std::size_t zero_rows(const Tensor& tensor) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < tensor.values.size(); i += tensor.columns()) {
    const auto row = std::span(tensor.values).subspan(i, tensor.columns());
    if (std::ranges::all_of(row, [](double x) { return x == 0; })) ++count;
  }
  return count;
}

// Returns the number of equal pairs within columns: exchanging them would go unnoticed.
std::size_t equal_pairs(const Tensor& tensor) {
  constexpr double nearly = 1e-9;
  std::size_t count = 0;
  for (std::size_t m = 0; m < tensor.matrices(); ++m) {
    for (std::size_t j = 0; j < tensor.columns(); ++j) {
      for (std::size_t i = 1; i < tensor.rows(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
          count += std::abs(tensor.at(m, i, j) - tensor.at(m, k, j)) < nearly ? 1 : 0;
        }
      }
    }
  }
  return count;
}

// Returns how many numbers have an absolute value above `largest`.
std::size_t larger_than(const Tensor& tensor, double largest) {
  return static_cast<std::size_t>(std::ranges::count_if(
      tensor.values, [&](double value) { return std::abs(value) > largest; }));
}

// Returns how many attention weights are near 0 or near 1; exactly 0 and 1 do not count.
std::size_t lopsided_weights(const Tensor& weights) {
  constexpr double nearly_all = 0.985;
  constexpr double nearly_nothing = 0.002;
  return static_cast<std::size_t>(std::ranges::count_if(weights.values, [&](double weight) {
    return (weight > nearly_all && weight < 1) || (weight > 0 && weight < nearly_nothing);
  }));
}

// Chooses d_k near d_model's share per head, but so that √d_k, d_k, √d_model and √n are four
// different divisors, and a weight's shape shows whether it is transposed.
LessonSizes sizes_of(const NewLesson& request) {
  const std::size_t share = request.d_model / std::max<std::size_t>(request.heads, 2);
  std::size_t d_k = std::max<std::size_t>(2, share);
  while (d_k == request.tokens || d_k == request.d_model || d_k * d_k == request.d_model) ++d_k;
  return {request.tokens, request.d_model, request.heads, request.heads, d_k};
}

Tensor drawn_from(std::initializer_list<double> likely, const Shape& shape, LessonDice& dice) {
  Tensor tensor = tensor_of(shape, std::vector<double>(element_count(shape, "a given")));
  for (double& value : tensor.values.mutable_span()) value = dice.pick(likely);
  return tensor;
}

std::vector<Given> drawn_givens(const LessonSizes& sizes, LessonDice& dice) {
  const Shape of_heads = sizes.heads == 1 ? Shape{sizes.d_model, sizes.d_k}
                                          : Shape{sizes.heads, sizes.d_model, sizes.d_k};
  return {{"X", drawn_from({-1, 0, 0, 1, 1, 2, 2}, {sizes.n, sizes.d_model}, dice)},
          {"W_Q", drawn_weight(of_heads, dice)},
          {"W_K", drawn_weight(of_heads, dice)},
          {"W_V", drawn_weight(of_heads, dice)},
          {"W_O", drawn_weight({sizes.heads * sizes.d_k, sizes.d_model}, dice)}};
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
void draw_row(std::span<double> row, LessonDice& dice) {
  constexpr std::array<double, 9> likely = {-2, -1, 0, 0, 1, 1, 2, 3, 4};
  constexpr std::size_t fewest_round = 4, most_tries = 200;
  for (std::size_t k = 0; k < most_tries; ++k) {
    for (double& value : row) value = dice.pick(likely);
    if (row.size() < fewest_round ? row[k % row.size()] != 0 : has_round_size(row)) return;
  }
}

Tensor llama_embeddings(const LessonSizes& sizes, LessonDice& dice) {
  std::vector<double> values(sizes.n * sizes.d_model);
  for (std::size_t i = 0; i < sizes.n; ++i) {
    draw_row(std::span(values).subspan(i * sizes.d_model, sizes.d_model), dice);
  }
  return tensor_of({sizes.n, sizes.d_model}, values);
}

Tensor gain(const LessonSizes& sizes, LessonDice& dice) {
  return drawn_from({0.5, 1, 2, 2}, {sizes.d_model}, dice);
}

std::vector<Given> llama_givens(const LessonSizes& sizes, LessonDice& dice) {
  const auto shape = [&](std::size_t heads) {
    return sizes.heads == 1 ? Shape{sizes.d_model, sizes.d_k}
                            : Shape{heads, sizes.d_model, sizes.d_k};
  };
  return {{"X", llama_embeddings(sizes, dice)},
          {"gain1", gain(sizes, dice)},
          {"W_Q", drawn_weight(shape(sizes.heads), dice)},
          {"W_K", drawn_weight(shape(sizes.key_heads), dice)},
          {"W_V", drawn_weight(shape(sizes.key_heads), dice)},
          {"W_O", drawn_weight({sizes.heads * sizes.d_k, sizes.d_model}, dice)},
          {"gain2", gain(sizes, dice)},
          {"W_gate", drawn_weight({sizes.d_model, sizes.d_ff}, dice)},
          {"W_up", drawn_weight({sizes.d_model, sizes.d_ff}, dice)},
          {"W_down", drawn_weight({sizes.d_ff, sizes.d_model}, dice)}};
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

constinit const NewStyle classic_style{
    .word = "classic",
    .sizes = sizes_of,
    .draw = drawn_givens,
    .penalty = penalty,
    .query = "Q",
    .key = "K",
    .most_draws = 3000,
    .draws_per_penalty = 3000,
};

constinit const NewStyle llama_style{
    .word = "llama",
    .sizes = llama_sizes,
    .draw = llama_givens,
    .penalty = llama_penalty,
    .query = "Q_rope",
    .key = "K_rope",
    .most_draws = 1000,
    .draws_per_penalty = 10,
};

}  // namespace qkv::inline lesson
