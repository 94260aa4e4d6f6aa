#include "formats/write_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "formats/unfinished.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_errno(const fs::path& path, int reason) {
  refuse(path, fmt::format("the file cannot be written: {}", std::strerror(reason)));
}

// ---------------------------------------------------------------- the temporary

/// Writes it all; the reason where that fails, else 0.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

/// A name beside `path` that no other thread or process takes. It does not grow with the file's own
/// name, which may be as long as the system allows.
fs::path temporary_name(const fs::path& path) {
  static std::atomic<unsigned> counter = 0;
  return path.parent_path() / fmt::format(".qkv-{}-{}.tmp", ::getpid(), counter++);
}

/// Opens a file that was not there before: a link that was put there is not followed.
int open_new(const fs::path& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

/// A file being written. One that is let go before `close` stays as it is.
class Writing {
 public:
  Writing(int descriptor, const fs::path& path) : descriptor_(descriptor), path_(path) {}
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  ~Writing() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  void append(std::string_view bytes) const {
    const int reason = write_all(descriptor_, bytes);
    if (reason != 0) refuse_errno(path_, reason);
  }

  /// Some file systems tell only now that the disk is full.
  void close() {
    const int closed = ::close(std::exchange(descriptor_, -1));
    if (closed != 0) refuse_errno(path_, errno);
  }

 private:
  int descriptor_;
  const fs::path& path_;
};

void write_content(int descriptor, const fs::path& path, const FileContent& content) {
  Writing writing(descriptor, path);
  content([&](std::string_view bytes) { writing.append(bytes); });
  writing.close();
}

/// One try under one name; false where the name was taken.
bool write_through(const fs::path& temporary, const fs::path& path, const FileContent& content) {
  const WatchedName watched(temporary.string());
  const int descriptor = open_new(temporary);
  if (descriptor < 0 && errno == EEXIST) return false;
  if (descriptor < 0 && errno == ENOENT) {
    refuse(path, "its directory does not exist: make it first");
  }
  if (descriptor < 0) refuse_errno(path, errno);
  try {
    write_content(descriptor, path, content);
    if (::rename(temporary.c_str(), path.c_str()) != 0) refuse_errno(path, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  return true;
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

void write_to_device(const fs::path& path, const FileContent& content) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) refuse_errno(path, errno);
  write_content(descriptor, path, content);
}

}  // namespace

void write_whole(const fs::path& path, const FileContent& content) {
  std::error_code ignored;
  if (!path.has_filename() || fs::is_directory(fs::symlink_status(path, ignored))) {
    refuse(path, "this is a directory: name a file in it");
  }
  if (is_device(path)) return write_to_device(path, content);
  constexpr int tries = 100;
  for (int i = 0; i < tries; ++i) {
    if (write_through(temporary_name(path), path, content)) return;
  }
  refuse_errno(path, EEXIST);
}

void write_whole(const fs::path& path, std::string_view bytes) {
  write_whole(path, [bytes](const Sink& sink) { sink(bytes); });
}

void make_directory(const fs::path& path) {
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
}

}  // namespace qkv
