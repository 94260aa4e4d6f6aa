#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/option_list.hpp"

namespace qkv {

/// Lets in one of the names; what is refused hears the nearest of them, or all. Completions read
/// the names from the refusal.
Refusal one_of(std::vector<std::string> names);

/// Lets in whole numbers from `fewest` to `most`.
Refusal whole_number(std::uint64_t fewest, std::uint64_t most);

/// Lets in whatever may name a file, or a step: an empty name is a variable that the shell has not
/// set.
Refusal a_path();
Refusal a_step();

/// Decimals that a number may be shown with: as many as a double has.
Refusal decimals();

/// Lets in numbers from 0 to 1.
Refusal a_share();

}  // namespace qkv
