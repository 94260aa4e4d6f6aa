#include "formats/files/output_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "formats/files/manifest.hpp"
#include "formats/files/write_file.hpp"
#include "text/error.hpp"

namespace qkv::inline formats {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

std::atomic<bool> fsync_enabled = true;

// Another export takes a moment; one that hangs must not block others for long.
constexpr auto max_lock_wait = 10s;
constexpr auto retry_delay = 10ms;

int open_directory(const fs::path& path) {
  return ::open(path.empty() ? "." : path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void sync(int descriptor, const fs::path& path) {
  if (!fsync_enabled) return;
  while (::fsync(descriptor) != 0) {
    if (errno == EINTR) continue;
    if (errno == EINVAL || errno == ENOTSUP) return;  // a pipe, or a file system that cannot
    refuse(path.string(), fmt::format("what was written is not safe on the disk: {}; --no-sync "
                                      "does not wait for it",
                                      std::strerror(errno)));
  }
}

// The directories whose entries change when `path` is created, the lowest first.
std::vector<fs::path> parents_to_change(const fs::path& path) {
  std::vector<fs::path> parents;
  std::error_code ignored;
  fs::path rest = path.has_filename() ? path : path.parent_path();
  while (!rest.empty() && !fs::exists(fs::symlink_status(rest, ignored))) {
    rest = rest.parent_path();
    parents.push_back(rest);
  }
  return parents;
}

fs::path made(const fs::path& path) {
  make_directory(path);
  return path;
}

// A rename would replace a pipe or a device, too, but no export created it.
void refuse_in_the_way(const fs::path& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return;
  if (S_ISREG(status.st_mode) || S_ISLNK(status.st_mode)) return;
  refuse(path, S_ISDIR(status.st_mode)
                   ? "a directory is in the way of this file: remove it or name another directory"
                   : "a pipe or a device is in the way of this file: remove it or name another "
                     "directory");
}

// Without a manifest, an interrupted export is not taken for a complete one.
void remove_manifest(const Directory& directory) {
  const fs::path list = directory.path() / manifest_name;
  if (::unlink(list.c_str()) == 0) return directory.sync();
  if (errno == ENOENT) return;
  refuse(list, fmt::format("the list of an earlier export cannot be removed: {}; nothing was "
                           "written",
                           std::strerror(errno)));
}

}  // namespace

Directory::Directory(fs::path path) : path_(std::move(path)), descriptor_(open_directory(path_)) {
  if (descriptor_ >= 0) return;
  refuse(path_.string(), fmt::format("the directory can't be opened, which it must be to lock and "
                                     "sync what is written there: {}",
                                     std::strerror(errno)));
}

Directory::~Directory() { ::close(descriptor_); }

void Directory::sync() const { qkv::sync(descriptor_, path_); }

void Directory::lock() const {
  const auto end = std::chrono::steady_clock::now() + max_lock_wait;
  while (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return;
    if (std::chrono::steady_clock::now() > end) {
      refuse(path_.string(),
             "another qkv is writing into this directory: wait until it is done, or name another "
             "one");
    }
    std::this_thread::sleep_for(retry_delay);
  }
}

void sync_file(int descriptor, const fs::path& path) { sync(descriptor, path); }

std::optional<Directory> directory_to_sync(const fs::path& path) {
  return fsync_enabled ? std::optional<Directory>(std::in_place, path) : std::nullopt;
}

void disable_fsync() { fsync_enabled = false; }

void make_directory(const fs::path& path) {
  const std::vector<fs::path> parents = parents_to_change(path);
  std::error_code error;
  fs::create_directories(path, error);
  std::error_code unknown;
  if (!fs::is_directory(path, unknown)) {
    if (!error || error == std::errc::file_exists || error == std::errc::not_a_directory) {
      refuse(path, "a file is in the way of this directory: remove it or name another directory");
    }
    refuse(path, fmt::format("the directory cannot be made: {}", error.message()));
  }
  if (::access(path.c_str(), W_OK | X_OK) != 0) {
    refuse(path, fmt::format("nothing can be written in this directory: {}", std::strerror(errno)));
  }
  for (const fs::path& parent : parents) {
    if (const auto changed = directory_to_sync(parent)) changed->sync();
  }
}

OutputDirectory::OutputDirectory(const fs::path& path, std::span<const std::string> names)
    : directory_(made(path)) {
  directory_.lock();
  for (const std::string& name : names) refuse_in_the_way(path / name);
  refuse_in_the_way(path / manifest_name);
  remove_stale_temporaries(path);
  remove_manifest(directory_);
}

void OutputDirectory::write(const std::string& name, const ContentWriter& content) const {
  replace_atomically(directory_.path() / name, content);
}

void OutputDirectory::write_manifest(const ContentWriter& content) const {
  directory_.sync();
  write(std::string(manifest_name), content);
  directory_.sync();
}

}  // namespace qkv::inline formats
