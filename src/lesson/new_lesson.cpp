#include "lesson/new_lesson.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <random>
#include <span>
#include <stdexcept>

#include "lesson/new_lesson_text.hpp"
#include "ops/catalogue.hpp"
#include "trace/evaluate.hpp"

namespace qkv {
namespace {

// A sentence for each number of tokens, no word twice: a word can then stand for its row.
constexpr std::string_view sentences[] = {
    "rain falls",
    "the cat sleeps",
    "a small bird sings",
    "the dog chases our cat",
    "we read books while it rains",
    "my brother plants tomatoes behind the house",
    "the old clock stopped when nobody was there",
    "every morning two boats leave with nets and bread",
    "on quiet nights you can hear waves break against stones",
};
static_assert(std::size(sentences) == most_tokens - fewest_tokens + 1);

std::vector<std::string> words_of(std::string_view sentence) {
  std::vector<std::string> words(1);
  for (const char c : sentence) {
    if (c == ' ') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

// The queries' width: what the heads share of d_model, but such that dividing by √d_k, by d_k and
// by √d_model are three different things, and a weight's shape shows which way round it is.
LessonSizes sizes_of(const NewLesson& wishes) {
  const std::size_t share = wishes.d_model / std::max<std::size_t>(wishes.heads, 2);
  std::size_t d_k = std::max<std::size_t>(2, share);
  while (d_k == wishes.d_model || d_k * d_k == wishes.d_model) ++d_k;
  return {wishes.tokens, wishes.d_model, wishes.heads, d_k};
}

// Small whole numbers, the same on every machine: the standard fixes what mt19937 gives, but not
// what its distributions make of it.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}
  std::size_t below(std::size_t count) { return engine_() % count; }
  double pick(std::span<const double> from) { return from[below(from.size())]; }

 private:
  std::mt19937 engine_;
};

Tensor embeddings(const LessonSizes& sizes, Dice& dice) {
  constexpr std::array<double, 7> likely = {-1, 0, 0, 1, 1, 2, 2};
  std::vector<double> values(sizes.n * sizes.d_model);
  for (double& value : values) value = dice.pick(likely);
  return tensor_of({sizes.n, sizes.d_model}, std::move(values));
}

// A row of nothing but zeros would hide every slip in what it is multiplied by.
void fill_empty_rows(std::span<double> cells, std::size_t columns) {
  for (std::size_t i = 0; i < cells.size() / columns; ++i) {
    const std::span<double> row = cells.subspan(i * columns, columns);
    if (std::ranges::all_of(row, [](double x) { return x == 0; })) row[i % columns] = 1;
  }
}

// Two or three numbers in each column: a product then has as many terms, however wide the model.
Tensor weight(const Shape& shape, Dice& dice) {
  constexpr std::array<double, 4> likely = {-1, 1, 1, 2};
  Tensor tensor = tensor_of(shape, std::vector<double>(count_of(shape, "a weight")));
  for (std::size_t m = 0; m < tensor.matrices(); ++m) {
    const std::span<double> cells = tensor.write_cells(m);
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

Options option(const std::string& name, std::string_view value) {
  Options options;
  options.set(name, std::string(value));
  return options;
}

Recipe draw(const NewLesson& wishes, const LessonSizes& sizes, Dice& dice) {
  const auto shape = [&](std::size_t rows, std::size_t columns) {
    return sizes.heads == 1 ? Shape{rows, columns} : Shape{sizes.heads, rows, columns};
  };
  Recipe recipe;
  recipe.tokens = words_of(sentences[sizes.n - fewest_tokens]);
  recipe.givens.push_back({"X", embeddings(sizes, dice)});
  for (const char* name : {"W_Q", "W_K", "W_V"}) {
    recipe.givens.push_back({name, weight(shape(sizes.d_model, sizes.d_k), dice)});
  }
  recipe.givens.push_back({"W_O", weight({sizes.heads * sizes.d_k, sizes.d_model}, dice)});
  recipe.steps = {
      {"Q", &project_operation, {"X", "W_Q"}, {}},
      {"K", &project_operation, {"X", "W_K"}, {}},
      {"V", &project_operation, {"X", "W_V"}, {}},
      {"scores", &score_operation, {"Q", "K"}, {}},
      {"scaled_scores", &scale_operation, {"scores"}, option("by", "sqrt(d_k)")},
  };
  if (wishes.causal) {
    recipe.steps.push_back(
        {"masked_scores", &mask_operation, {"scaled_scores"}, option("kind", "causal")});
  }
  recipe.steps.push_back({"attention_weights", &softmax_operation, {recipe.steps.back().name}, {}});
  recipe.steps.push_back({"context", &weighted_sum_operation, {"attention_weights", "V"}, {}});
  if (sizes.heads > 1) recipe.steps.push_back({"concat", &concat_heads_operation, {"context"}, {}});
  recipe.steps.push_back({"output", &project_operation, {recipe.steps.back().name, "W_O"}, {}});
  return recipe;
}

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

// A row of nothing but zeros gives nothing to work out; a column of them hides its weights.
std::size_t zero_rows(const Tensor& tensor) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < tensor.values.size(); i += tensor.columns()) {
    const auto row = std::span(tensor.values).subspan(i, tensor.columns());
    if (std::ranges::all_of(row, [](double x) { return x == 0; })) ++count;
  }
  return count;
}

// Two numbers that are equal in a column of what was worked out: exchanged, they would look right.
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

// Numbers that a person can work with: scores of a few units, rows that differ, and weights in
// which more than one key has a say. What the words take for their example is not 0.
std::size_t nuisances(const Trace& trace) {
  constexpr double largest_score = 12;
  constexpr double nearly_all = 0.985;
  constexpr double nearly_nothing = 0.002;
  std::size_t count = equal_pairs(trace.at("context")) + zero_rows(transposed(trace.at("X")));
  for (const char* name : {"X", "Q", "K", "V"}) {
    count += zero_rows(trace.at(name)) + (has_equal_rows(trace.at(name)) ? 1 : 0);
  }
  for (const char* name : {"Q", "K", "V", "scores"}) {
    if (trace.at(name).at(0, 1, 0) == 0) ++count;
  }
  for (const double score : trace.at("scores").values) {
    if (std::abs(score) > largest_score) ++count;
  }
  for (const double weight : trace.at("attention_weights").values) {
    if ((weight > nearly_all && weight < 1) || (weight > 0 && weight < nearly_nothing)) ++count;
  }
  return count;
}

Recipe best_draw(const NewLesson& wishes, const LessonSizes& sizes, const CountHidden& hidden) {
  constexpr std::size_t most_draws = 3000;
  Dice dice(wishes.seed);
  Recipe best;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (std::size_t k = 0; k < most_draws && fewest > 0; ++k) {
    Recipe recipe = draw(wishes, sizes, dice);
    const Trace trace = evaluate(recipe);
    std::size_t count = nuisances(trace);
    if (count < fewest) count += 10 * hidden(trace);  // a mistake that hides weighs more
    if (count >= fewest) continue;
    fewest = count;
    best = std::move(recipe);
  }
  return best;
}

void refuse_sizes(const NewLesson& wishes) {
  const bool good = wishes.tokens >= fewest_tokens && wishes.tokens <= most_tokens &&
                    wishes.d_model >= smallest_d_model && wishes.d_model <= largest_d_model &&
                    wishes.heads >= 1 && wishes.heads <= most_heads;
  if (!good) throw std::logic_error("new_lesson: a size is out of bounds");
}

}  // namespace

std::string new_lesson(const NewLesson& wishes, const CountHidden& hidden) {
  refuse_sizes(wishes);
  const LessonSizes sizes = sizes_of(wishes);
  return lesson_text(wishes, sizes, best_draw(wishes, sizes, hidden));
}

}  // namespace qkv
