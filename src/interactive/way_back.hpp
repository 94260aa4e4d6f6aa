#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "interactive/quiz.hpp"
#include "interactive/walkthrough.hpp"

namespace qkv {

/// The command that goes on where the reader stood, with all that they have set, as a line to
/// paste into a shell; empty where there is nothing to go on with: they never left the first step,
/// or have come to the end, and changed nothing. `options` are words of the command line that it
/// keeps. Example: `To go on from here: qkv run the-fat-cat --set 'X[1,1]=2' --from scores`.
std::string way_back(const Walkthrough& walk, const std::optional<Quiz>& quiz,
                     std::string_view options);

}  // namespace qkv
