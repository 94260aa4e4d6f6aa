#include "cli/export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/progress.hpp"
#include "formats/files/output_directory.hpp"
#include "formats/files/sha256.hpp"
#include "text/counted.hpp"
#include "text/escape.hpp"

namespace qkv {
namespace {

namespace fs = std::filesystem;

// Writes a file, and tells of its numbers as their bytes go by. Its SHA-256.
std::string write_file(const PlannedFile& file, const OutputDirectory& output, Progress& progress) {
  std::size_t left = file.cells;
  const auto pass = [&](std::size_t cells) {
    progress.advance(std::min(cells, left));
    left -= std::min(cells, left);
  };
  Sha256 sum;
  output.write(file.name, [&](const Sink& sink) {
    file.content([&](std::string_view bytes) {
      sum.add(bytes);
      sink(bytes);
      pass(bytes.size() / sizeof(double));
    });
  });
  pass(left);
  return sum.hex();
}

Checksums write_files(const std::vector<PlannedFile>& files, const OutputDirectory& output) {
  std::size_t cells = 0;
  for (const PlannedFile& file : files) cells += file.cells;
  Progress progress("exporting", cells);
  Checksums sums;
  for (const PlannedFile& file : files) sums[file.name] = write_file(file, output, progress);
  return sums;
}

}  // namespace

std::string export_to_directory(const ExportPlan& plan, const fs::path& directory) {
  std::vector<std::string> names;
  for (const PlannedFile& file : plan.files) names.push_back(file.name);
  const OutputDirectory output(directory, names);
  const std::string list = plan.list(write_files(plan.files, output));
  output.write_list([&](const Sink& sink) { sink(list); });
  return fmt::format("{} in {}", counted(names.size() + 1, "file"), visible(directory.string()));
}

}  // namespace qkv
