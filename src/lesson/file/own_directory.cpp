#include "lesson/file/own_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "text/error.hpp"

namespace qkv {
namespace {

namespace fs = std::filesystem;

std::atomic<bool> any_file_will_do = false;

[[noreturn]] void refuse_outside(const std::string& file, std::string_view why) {
  throw InputError(
      fmt::format("{}: {}; put the file beside the lesson, or add --allow-outside-files if you "
                  "trust this lesson",
                  file, why));
}

bool lies_in(const fs::path& directory, const fs::path& path) {
  return std::mismatch(directory.begin(), directory.end(), path.begin(), path.end()).first ==
         directory.end();
}

// A pipe would wait for a writer, a device need never end.
void refuse_special(const fs::path& path, const std::string& file) {
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  if (!fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status)) return;
  refuse_outside(file, "this is a pipe or a device, and a lesson reads plain files");
}

}  // namespace

fs::path file_of_lesson(const fs::path& directory, const std::string& file) {
  if (file.find('\0') != file.npos) refuse(file, "no file's name has a zero byte");
  const fs::path path = directory / file;
  if (any_file_will_do) return path;
  const fs::path named(file);
  if (named.is_absolute())
    refuse_outside(file, "an absolute path leads out of the lesson's directory");
  if (std::find(named.begin(), named.end(), "..") != named.end()) {
    refuse_outside(file, "\"..\" leads out of the lesson's directory");
  }
  std::error_code error;
  const fs::path home = fs::canonical(directory.empty() ? fs::path(".") : directory, error);
  const fs::path target = error ? fs::path() : fs::weakly_canonical(home / named, error);
  if (error) return path;  // not there: opening it says so
  if (!lies_in(home, target)) refuse_outside(file, "a link leads out of the lesson's directory");
  refuse_special(path, file);
  return path;
}

void allow_outside_files() { any_file_will_do = true; }

}  // namespace qkv
