#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "trace/trace.hpp"

namespace qkv {

/// What a new lesson is to be like.
struct NewLesson {
  std::uint32_t seed = 0;
  std::size_t tokens = 4;
  std::size_t d_model = 3;
  std::size_t heads = 1;
  bool causal = false;
  std::string file = "lesson.toml";  ///< as the lesson's own commands name it
};

/// The sizes that can be worked by hand, each from and to.
inline constexpr std::size_t fewest_tokens = 2, most_tokens = 10;
inline constexpr std::size_t smallest_d_model = 2, largest_d_model = 16;
inline constexpr std::size_t most_heads = 8;

/// How many known mistakes can't be told on these numbers.
using CountHidden = std::function<std::size_t(const Trace&)>;

/// A lesson file with small whole numbers and all steps of attention. Numbers are drawn until none
/// is too large, no softmax is all one key's, and `hidden` counts nothing (else the best of many
/// draws stays). The same wishes give the same text on every machine. Throws std::logic_error for
/// sizes beyond those above.
std::string new_lesson(const NewLesson& wishes, const CountHidden& hidden);

}  // namespace qkv
