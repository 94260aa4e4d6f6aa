#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {
class Validator;
}

namespace qkv {

/// Lets in one of the names; what is refused hears the nearest of them, or all. Completions read
/// the names from the refusal.
CLI::Validator one_of(std::vector<std::string> names);

/// Lets in whole numbers from `fewest` to `most`.
CLI::Validator whole_number(std::uint64_t fewest, std::uint64_t most);

/// Decimals that a number may be shown with: as many as a double has.
CLI::Validator decimals();

}  // namespace qkv
