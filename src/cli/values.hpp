#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace qkv {

/// What a shell can offer for a value.
enum class Offer { nothing, choices, lessons, lessons_and_files, steps, cells, files, directories };

/// Says why a value is refused; empty where it is fine.
using Refusal = std::function<std::string(std::string&)>;

/// What may stand as the value of an option or an argument. Help, man page, completions and
/// messages read it.
struct ValueKind {
  std::string name = {};  ///< what people call it: "FILE"
  Offer offer = Offer::nothing;
  std::vector<std::string> choices = {};  ///< where only these may be given
  Refusal refusal = {};                   ///< none where any value will do
};

/// One of the names; what is refused hears the nearest of them, or all.
ValueKind one_of(std::string name, std::vector<std::string> choices);

/// A whole number from `fewest` to `most`.
ValueKind whole_number(std::uint64_t fewest, std::uint64_t most);

/// Decimals that a number may be shown with: as many as a double has.
ValueKind decimals();

/// A number from 0 to 1.
ValueKind a_share();

/// Files of the user's. An empty name is refused: it is a variable that the shell has not set.
ValueKind a_file();
ValueKind a_directory();
ValueKind a_path();

/// A lesson of the course or a lesson file; a step of the lesson; a cell of one of its matrices.
ValueKind a_lesson();
ValueKind a_step();
ValueKind a_cell();

}  // namespace qkv
