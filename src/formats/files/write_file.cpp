#include "formats/files/write_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "formats/files/directory.hpp"
#include "formats/files/temporary.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_errno(const fs::path& path, int reason) {
  refuse(path, fmt::format("the file cannot be written: {}", std::strerror(reason)));
}

void refuse_directory(const fs::path& path) {
  std::error_code ignored;
  if (path.has_filename() && !fs::is_directory(fs::symlink_status(path, ignored))) return;
  refuse(path, "this is a directory: name a file in it");
}

// ---------------------------------------------------------------- devices

/// Whether `path` leads to a terminal, a pipe or a device. In /dev links count too: /dev/stdout is
/// one, and must not be replaced.
bool is_device(const fs::path& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return false;
  if (S_ISLNK(status.st_mode))
    return path.parent_path() == "/dev" || path.parent_path() == "/dev/fd";
  return !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

/// A device that is being written to.
class DeviceWriting {
 public:
  /// A pipe that nothing reads would be waited for.
  explicit DeviceWriting(const fs::path& path)
      : path_(path), descriptor_(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) {
    if (descriptor_ < 0 && errno == ENXIO) {
      refuse(path, "nothing reads from this pipe: start its reader first, or name a file");
    }
    if (descriptor_ < 0) refuse_errno(path, errno);
  }
  DeviceWriting(const DeviceWriting&) = delete;
  DeviceWriting& operator=(const DeviceWriting&) = delete;
  ~DeviceWriting() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  void append(std::string_view bytes) const {
    const int reason = write_all(descriptor_, bytes);
    if (reason != 0) refuse_errno(path_, reason);
  }

  /// Some tell only now that there is no room.
  void close() {
    const int closed = ::close(descriptor_);
    descriptor_ = -1;
    if (closed != 0) refuse_errno(path_, errno);
  }

 private:
  const fs::path& path_;
  int descriptor_;
};

void write_to_device(const fs::path& path, const FileContent& content) {
  DeviceWriting writing(path);
  content([&](std::string_view bytes) { writing.append(bytes); });
  writing.close();
}

// ---------------------------------------------------------------- what killed programs left

/// Removes a temporary that no program has locked.
void remove_if_left(const fs::path& name) {
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat status = {};
  const bool is_left = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                       ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  if (is_left) ::unlink(name.c_str());
  ::close(descriptor);
}

}  // namespace

void replace_whole(const fs::path& path, const FileContent& content) {
  refuse_directory(path);
  Temporary temporary(path);
  content([&](std::string_view bytes) { temporary.append(bytes); });
  temporary.take_its_place();
}

void write_whole(const fs::path& path, const FileContent& content) {
  if (is_device(path)) return write_to_device(path, content);
  refuse_directory(path);
  Temporary temporary(path);
  const auto directory = directory_to_sync(path.parent_path());  // which fails before the work
  content([&](std::string_view bytes) { temporary.append(bytes); });
  temporary.take_its_place();
  if (directory) directory->sync();
}

void write_whole(const fs::path& path, std::string_view bytes) {
  write_whole(path, [bytes](const Sink& sink) { sink(bytes); });
}

void remove_leftovers(const fs::path& directory) {
  std::error_code error;
  for (auto entry = fs::directory_iterator(directory, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (is_temporary_name(entry->path().filename().string())) remove_if_left(entry->path());
  }
}

}  // namespace qkv
