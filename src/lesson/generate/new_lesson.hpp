#pragma once

#include "trace/trace.hpp"

namespace qkv::inline lesson {

/// The steps of a new lesson: attention alone, or a whole LLaMA block.
enum class LessonStyle { classic, llama };

struct NewLesson {
  LessonStyle style = LessonStyle::classic;
  std::uint32_t seed = 0;
  std::size_t tokens = 4;
  std::size_t d_model = 3;
  std::size_t heads = 1;
  std::size_t key_heads = 0;         ///< number of key heads; 0: half the heads, if that is whole
  bool causal = false;               ///< a LLaMA block is always causal
  std::string file = "lesson.toml";  ///< as its own commands name it
};

/// The limits of sizes for hand work.
inline constexpr std::size_t fewest_tokens = 2, most_tokens = 10;
inline constexpr std::size_t smallest_d_model = 2, largest_d_model = 16;
inline constexpr std::size_t most_heads = 8;

/// Returns the default sizes of a style.
NewLesson default_lesson(LessonStyle style);

/// Returns how many known mistakes cannot be detected with these numbers.
using CountHidden = std::function<std::size_t(const Trace&)>;

/// Returns a lesson file with small integers and all steps of its style. Numbers are drawn until
/// none is too large, no softmax goes to one key alone, and `hidden` counts no avoidable mistake;
/// otherwise the best of many draws is used. Equal settings give the same text on every machine.
/// Sizes must be within the limits above, and the key heads divide the heads.
std::string new_lesson(const NewLesson& request, const CountHidden& hidden);

}  // namespace qkv::inline lesson
