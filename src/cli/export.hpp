#pragma once

#include <filesystem>
#include <string>

#include "exporting/export_plan.hpp"

namespace qkv::inline cli {

/// Writes the files of an export and their list into a directory, made where there is none, and
/// says so in words: "32 files in out". Throws InputError where one can't be written.
std::string export_to_directory(const ExportPlan& plan, const std::filesystem::path& directory);

class OptionList;

/// Declares --no-sync, for a command that writes files.
void add_sync_option(OptionList& app);

}  // namespace qkv::inline cli
