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

/// The sizes of a new lesson's matrices.
struct LessonSizes {
  std::size_t n, d_model, heads, key_heads, d_k, d_ff = 0;
};

/// A style of lesson that can be generated. Its words and steps are in lessons/words/new-lesson.in.
struct NewStyle {
  std::string_view word;  ///< of the parts that are for it
  LessonSizes (*sizes)(const NewLesson&);
  std::vector<Given> (*draw)(const LessonSizes&, Dice&);
  /// Returns how unsuitable the numbers of a draw are for hand work and for learning.
  std::size_t (*penalty)(const Trace&);
  std::string_view query, key;                ///< the steps whose rows are multiplied to scores
  std::size_t most_draws, draws_per_penalty;  ///< draws before one more penalty is accepted
};

extern const NewStyle classic_style, llama_style;

}  // namespace qkv::inline lesson
