#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string_view>

#include "lesson/generate/new_lesson.hpp"
#include "tensor/tensor.hpp"
#include "trace/recipe.hpp"

namespace qkv::inline lesson {

/// Small whole numbers, the same on every machine: the standard fixes what mt19937 gives, but not
/// what its distributions make of it.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}
  std::size_t below(std::size_t count) { return engine_() % count; }
  double pick(std::span<const double> from) { return from[below(from.size())]; }
  /// Between -1 and 1, with many digits.
  double any_number() {
    return 2 * static_cast<double>(engine_()) / static_cast<double>(std::mt19937::max()) - 1;
  }

 private:
  std::mt19937 engine_;
};

/// A weight with two or three numbers in each column, so that a product has as many terms however
/// wide the model is, and with no row of zeros.
Tensor drawn_weight(const Shape& shape, Dice& dice);

/// How many rows are nothing but zeros: they give nothing to work out.
std::size_t zero_rows(const Tensor& tensor);

/// Whether two rows of the first matrix are equal.
bool has_equal_rows(const Tensor& tensor);

/// How many pairs of numbers of the same column are equal: exchanged, they would look right.
std::size_t equal_pairs(const Tensor& tensor);

/// How many numbers are further from 0 than `largest`.
std::size_t larger_than(const Tensor& tensor, double largest);

/// How many attention weights leave nearly nothing, or have nearly all; 0 and 1 are as they should.
std::size_t lopsided_weights(const Tensor& weights);

/// The sizes of a new lesson's matrices.
struct LessonSizes {
  std::size_t n, d_model, heads, key_heads, d_k, d_ff = 0;
};

/// What is said of a step. Braces are live numbers; what stands in <> is put in by the writer.
struct StepProse {
  std::string_view step, say, notice;
  std::string_view questions = {};  ///< as they stand, not filled into lines
};

/// One kind of lesson that can be drawn.
struct NewStyle {
  std::string_view title, summary;
  LessonSizes (*sizes)(const NewLesson&);
  Recipe (*draw)(const NewLesson&, const LessonSizes&, Dice&);
  /// How much of a draw a person would rather not work with, or could not learn from.
  std::size_t (*penalty)(const Trace&);
  std::span<const StepProse> words;  ///< of its own steps; the others have those of the classic
  std::string_view query, key;       ///< the steps whose rows are multiplied to scores
  std::size_t most_draws, draws_per_penalty;  ///< after how many draws one nuisance more will do
};

extern const NewStyle classic_style, llama_style;

/// The words of a sentence with as many of them as there are tokens, no word twice.
std::vector<std::string> sentence_of(std::size_t tokens);

/// One option of a step.
Options option(const std::string& name, OptionValue value);

}  // namespace qkv::inline lesson
