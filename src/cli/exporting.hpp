#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "exporting/export_plan.hpp"

namespace qkv {

/// Writes the files of an export into a directory, made where there is none, and says so in words:
/// "32 files in out". Throws InputError where one can't be written.
std::string export_to_directory(const std::vector<PlannedFile>& plan,
                                const std::filesystem::path& directory);

}  // namespace qkv
