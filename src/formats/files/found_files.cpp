#include "formats/files/found_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "formats/arrays/npz.hpp"
#include "formats/arrays/zip.hpp"
#include "formats/files/file_stem.hpp"
#include "formats/files/mapped_file.hpp"
#include "formats/files/read_file.hpp"
#include "formats/handwork/numeral.hpp"
#include "text/error.hpp"
#include "text/lowercase.hpp"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr ZipWords words = {
    .kind = "zip archive",
    .make = "pack the files as .zip",
    .again = "pack the files again",
    .plainly = "pack the files as a plain .zip",
};
constexpr std::size_t most_files = 10'000;
constexpr int deepest = 8;

[[noreturn]] void refuse_many(const fs::path& place) {
  throw InputError(
      fmt::format("{}: there are more than {} files in it: name the directory of one "
                  "submission",
                  printable(place.string()), most_files));
}

// What no person put there: ".git", "__MACOSX", "Q.csv~".
bool is_kept_by_programs(const fs::path& name) {
  const std::string text = name.string();
  return is_kept_by_editors(text) || text == "__MACOSX" || text == "__pycache__";
}

std::vector<FoundFile> files_of_directory(const fs::path& directory) {
  std::vector<FoundFile> files;
  std::error_code error;
  std::size_t seen = 0;
  auto entry = fs::recursive_directory_iterator(directory, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (++seen > most_files) refuse_many(directory);
    std::error_code ignored;  // a link that leads nowhere is no file
    const bool is_hidden = is_kept_by_programs(entry->path().filename());
    if (is_hidden || entry.depth() >= deepest) entry.disable_recursion_pending();
    if (!is_hidden && entry->is_regular_file(ignored)) files.push_back({.path = entry->path()});
  }
  if (error) {
    throw InputError(fmt::format("{} can't be read: {}", directory.string(), error.message()));
  }
  return files;
}

std::vector<FoundFile> files_of_archive(const fs::path& archive) {
  const MappedFile mapped(archive);
  std::vector<FoundFile> files;
  std::size_t total = 0;
  for (const ZipEntry& entry : zip_entries(mapped.bytes(), archive.string(), words)) {
    const fs::path inside(entry.name);
    const bool is_folder = entry.name.ends_with('/');
    if (is_folder || std::ranges::any_of(inside, is_kept_by_programs)) continue;
    if (files.size() == most_files) refuse_many(archive);
    FoundFile& file = files.emplace_back(FoundFile{.path = archive / inside.relative_path()});
    const Format* format = format_of(inside);
    file.bytes.emplace();
    if (format == nullptr || format->read == nullptr) continue;
    total += entry.unpacked;
    if (total > largest_unpacked) {
      refuse(archive.string(), fmt::format("its files have more than {} bytes, the most that is "
                                           "read",
                                           largest_unpacked));
    }
    file.bytes = unpacked(entry, archive.string(), words);
  }
  return files;
}

}  // namespace

std::vector<NamedWritten> FoundFile::read(const Wanted& wanted) const {
  return bytes ? format_of(path)->read(*bytes, path.string(), wanted)
               : read_all_written(path, wanted);
}

bool is_archive(const fs::path& path) {
  std::error_code ignored;
  return ascii_lowercase(path.extension().string()) == ".zip" && !fs::is_directory(path, ignored);
}

std::vector<FoundFile> files_in(const fs::path& place) {
  std::vector<FoundFile> files =
      is_archive(place) ? files_of_archive(place) : files_of_directory(place);
  std::ranges::sort(files, {}, &FoundFile::path);
  return files;
}

}  // namespace qkv
