#pragma once

#include <filesystem>
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

/// Does with a lesson what people do: walks it, checks a sheet with errors, writes its page. The
/// variant chooses the width and the errors.
void use_lesson(const LoadedLesson& loaded, std::size_t variant);

/// Check a lesson's submission and compare a lesson with a dump, and report on it.
void check_files(const LoadedLesson& loaded, const std::filesystem::path& path);
void compare_files(const LoadedLesson& loaded, const std::filesystem::path& path);

/// A small lesson with heads, a mask and labels of every kind, to name cells of.
std::shared_ptr<const LoadedLesson> small_lesson();

/// Whether a lesson asks for so many numbers that working it out would only cost time: draws,
/// ones, eye and the like may be as large as memory, and so may seven heads of them.
bool is_large(std::string_view toml);

}  // namespace qkv::fuzz
