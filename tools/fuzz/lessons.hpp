#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "lesson/library.hpp"

namespace qkv::fuzz {

/// Where the files lie that a lesson names: of one with a model in the program, of others among the
/// tests' lessons.
LessonFiles files_of(std::string_view toml);

/// The lesson that a text is, worked out. Throws InputError with its first fault.
LoadedLesson evaluated_lesson(std::string_view toml);

/// A small lesson with heads, a mask and labels of every kind, to name cells of.
std::shared_ptr<const LoadedLesson> small_lesson();

/// Whether a lesson asks for so many numbers that working it out would only cost time: draws,
/// ones, eye and the like may be as large as memory, and so may seven heads of them.
bool is_large(std::string_view toml);

}  // namespace qkv::fuzz
