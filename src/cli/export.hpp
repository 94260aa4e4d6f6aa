#pragma once

#include <filesystem>

#include "exporting/export_plan.hpp"

namespace CLI {
class App;
}

namespace qkv::inline cli {

/// Writes the files of an export and its manifest to a directory, created if needed. Returns a
/// summary, "32 files in out". Throws InputError if a file cannot be written.
std::string export_to_directory(const ExportPlan& plan, const std::filesystem::path& directory);

/// Declares --no-sync, for commands that write files.
void add_sync_option(CLI::App& app);

}  // namespace qkv::inline cli
