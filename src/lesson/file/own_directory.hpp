#pragma once

#include <filesystem>
#include <string>

namespace qkv {

/// The path of a file that a lesson in `directory` names. A lesson may come from a stranger, so it
/// reads regular files of its own directory and those below it only: no absolute path, no `..` and
/// no link that leads out. Throws InputError with what to do instead.
std::filesystem::path file_of_lesson(const std::filesystem::path& directory,
                                     const std::string& file);

/// Lets every lesson name any file. It is for the person who starts the program to say, so it holds
/// for the whole process.
void allow_outside_files();

}  // namespace qkv
