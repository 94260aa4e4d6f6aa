#include "cli/exporting.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/progress.hpp"
#include "formats/manifest.hpp"
#include "formats/write_file.hpp"
#include "text/counted.hpp"
#include "text/visible.hpp"

namespace qkv {
namespace {

namespace fs = std::filesystem;

// The list of an earlier export goes first: while this one is on its way, no list says that the
// files are whole.
void remove_list(const fs::path& directory) {
  const fs::path list = directory / manifest_name;
  std::error_code ignored;
  if (fs::is_regular_file(fs::symlink_status(list, ignored))) fs::remove(list, ignored);
}

// Writes a file, and tells of its numbers as their bytes go by.
void write_file(const PlannedFile& file, const fs::path& directory, Progress& progress) {
  std::size_t left = file.cells;
  const auto pass = [&](std::size_t cells) {
    progress.advance(std::min(cells, left));
    left -= std::min(cells, left);
  };
  write_whole(directory / file.name, [&](const Sink& sink) {
    file.content([&](std::string_view bytes) {
      sink(bytes);
      pass(bytes.size() / sizeof(double));
    });
  });
  pass(left);
}

void write_files(const std::vector<PlannedFile>& plan, const fs::path& directory) {
  std::size_t cells = 0;
  for (const PlannedFile& file : plan) cells += file.cells;
  Progress progress("exporting", cells);
  for (const PlannedFile& file : plan) write_file(file, directory, progress);
}

}  // namespace

std::string export_to_directory(const std::vector<PlannedFile>& plan, const fs::path& directory) {
  make_directory(directory);
  remove_list(directory);
  write_files(plan, directory);
  return fmt::format("{} in {}", counted(plan.size(), "file"), visible(directory.string()));
}

}  // namespace qkv
