#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string_view>

#include "lesson/generate/new_lesson.hpp"
#include "tensor/tensor.hpp"
#include "trace/trace.hpp"

namespace qkv::inline lesson {

/// Random small integers, the same on every machine: the standard fixes mt19937's output, but not
/// that of its distributions.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : engine_(seed) {}
  std::size_t below(std::size_t count) { return engine_() % count; }
  double pick(std::span<const double> from) { return from[below(from.size())]; }
  /// Returns a number between -1 and 1 with many digits.
  double any_number() {
    return 2 * static_cast<double>(engine_()) / static_cast<double>(std::mt19937::max()) - 1;
  }

 private:
  std::mt19937 engine_;
};

/// Draws a weight with two or three nonzero numbers per column and no zero row. A product then has
/// as many terms for any model width.
Tensor drawn_weight(const Shape& shape, Dice& dice);

/// Returns the number of rows of zeros, which leave nothing to calculate.
std::size_t zero_rows(const Tensor& tensor);

/// True if two rows of the first matrix are equal.
bool has_equal_rows(const Tensor& tensor);

/// Returns the number of equal pairs within columns: exchanging them would go unnoticed.
std::size_t equal_pairs(const Tensor& tensor);

/// Returns how many numbers have an absolute value above `largest`.
std::size_t larger_than(const Tensor& tensor, double largest);

/// Returns how many attention weights are near 0 or near 1; exactly 0 and 1 do not count.
std::size_t lopsided_weights(const Tensor& weights);

/// The sizes of a new lesson's matrices.
struct LessonSizes {
  std::size_t n, d_model, heads, key_heads, d_k, d_ff = 0;
};

/// A step's prose. Braces are live numbers; text in <> is filled in by the writer.
struct StepProse {
  std::string_view step, say, notice;
  std::string_view questions = {};  ///< inserted as it is, without rewrapping
};

/// A style of lesson that can be generated.
struct NewStyle {
  std::string_view title, summary;
  LessonSizes (*sizes)(const NewLesson&);
  Recipe (*draw)(const NewLesson&, const LessonSizes&, Dice&);
  /// Returns how unsuitable the numbers of a draw are for hand work and for learning.
  std::size_t (*penalty)(const Trace&);
  std::span<const StepProse> words;  ///< of its own steps; others use those of the classic style
  std::string_view query, key;       ///< the steps whose rows are multiplied to scores
  std::size_t most_draws, draws_per_penalty;  ///< draws before one more penalty is accepted
};

extern const NewStyle classic_style, llama_style;

/// Returns a sentence of that many different words.
std::vector<std::string> sentence_of(std::size_t tokens);

}  // namespace qkv::inline lesson
