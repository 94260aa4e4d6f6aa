#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "interactive/walkthrough.hpp"

namespace qkv {

/// How a person walks a lesson step by step.
struct SteppingChoice {
  bool plain = false;                           ///< lines only: nothing is drawn over
  std::optional<std::uint32_t> quiz_seed = {};  ///< asks before it shows
  std::string options = {};                     ///< words that the command to go on with keeps
};

/// Walks on until the person quits, on the whole screen where the terminal can do that, by lines
/// elsewhere.
void step_through(Walkthrough walk, const SteppingChoice& choice, std::size_t columns);

}  // namespace qkv
