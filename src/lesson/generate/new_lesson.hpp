#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "trace/trace.hpp"

namespace qkv::inline lesson {

/// What a new lesson has as its steps: attention alone, or a whole block as LLaMA has it.
enum class LessonStyle { classic, llama };

/// What a new lesson is to be like.
struct NewLesson {
  LessonStyle style = LessonStyle::classic;
  std::uint32_t seed = 0;
  std::size_t tokens = 4;
  std::size_t d_model = 3;
  std::size_t heads = 1;
  std::size_t key_heads = 0;  ///< how many share the heads; 0: half as many, where that is whole
  bool causal = false;        ///< a block of LLaMA's is causal without it
  std::string file = "lesson.toml";  ///< as the lesson's own commands name it
};

/// The sizes that can be worked by hand, each from and to.
inline constexpr std::size_t fewest_tokens = 2, most_tokens = 10;
inline constexpr std::size_t smallest_d_model = 2, largest_d_model = 16;
inline constexpr std::size_t most_heads = 8;

/// The sizes of a style where nothing else is wished for.
NewLesson default_lesson(LessonStyle style);

/// How many known mistakes can't be told on these numbers.
using CountHidden = std::function<std::size_t(const Trace&)>;

/// A lesson file with small whole numbers and all steps of its style. Numbers are drawn until none
/// is too large, no softmax is all one key's, and `hidden` counts nothing that other numbers would
/// show (else the best of many draws stays). The same wishes give the same text on every machine.
/// Throws std::logic_error for sizes beyond those above, or heads of keys that do not divide the
/// heads.
std::string new_lesson(const NewLesson& request, const CountHidden& hidden);

}  // namespace qkv::inline lesson
