#include "formats/files/output_directory.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "formats/files/manifest.hpp"
#include "formats/files/write_file.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

namespace fs = std::filesystem;

fs::path made(const fs::path& path) {
  make_directory(path);
  return path;
}

// A pipe or a device would be replaced as well as a file, but what put it there is no export.
void refuse_in_the_way(const fs::path& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return;
  if (S_ISREG(status.st_mode) || S_ISLNK(status.st_mode)) return;
  refuse(path, S_ISDIR(status.st_mode)
                   ? "a directory is in the way of this file: remove it or name another directory"
                   : "a pipe or a device is in the way of this file: remove it or name another "
                     "directory");
}

// While the files are on their way, no list says that they are whole.
void remove_list(const Directory& directory) {
  const fs::path list = directory.path() / manifest_name;
  if (::unlink(list.c_str()) == 0) return directory.sync();
  if (errno == ENOENT) return;
  refuse(list, fmt::format("the list of an earlier export cannot be removed: {}; nothing was "
                           "written",
                           std::strerror(errno)));
}

}  // namespace

OutputDirectory::OutputDirectory(const fs::path& path, std::span<const std::string> names)
    : directory_(made(path)) {
  directory_.lock();
  for (const std::string& name : names) refuse_in_the_way(path / name);
  refuse_in_the_way(path / manifest_name);
  remove_leftovers(path);
  remove_list(directory_);
}

void OutputDirectory::write(const std::string& name, const FileContent& content) const {
  replace_whole(directory_.path() / name, content);
}

void OutputDirectory::write_list(const FileContent& content) const {
  directory_.sync();
  write(std::string(manifest_name), content);
  directory_.sync();
}

}  // namespace qkv
