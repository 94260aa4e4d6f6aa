#pragma once

#include <string>

#include "choices.hpp"

namespace qkv::fuzz {

/// Returns the text of a lesson: some givens of rank 0 to 5 and sizes 0 to 3, steps of any
/// operation with any operands and options, and gradients through them, half of them of the right
/// shape. All of it is valid TOML, but not always a valid lesson.
std::string generated_lesson(Choices& choices);

}  // namespace qkv::fuzz
