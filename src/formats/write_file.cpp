#include "formats/write_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <string>

#include "tensor/error.hpp"

namespace qkv {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, std::string_view why) {
  throw InputError(fmt::format("{}: {}", path.string(), why));
}

[[noreturn]] void refuse_errno(const fs::path& path, int reason) {
  refuse(path, fmt::format("the file cannot be written: {}", std::strerror(reason)));
}

// ---------------------------------------------------------------- removal on a signal

/// Names of temporaries for the signal handler, in memory that is always there: a handler may not
/// allocate. More files at a time than there are slots are written without a handler's care.
struct Slot {
  enum State { free, being_named, named };
  std::atomic<int> state = free;
  std::array<char, PATH_MAX> name = {};
};
std::array<Slot, 16> slots;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may not wait for a lock");

constexpr std::array deadly_signals = {SIGINT, SIGTERM, SIGHUP};

/// Removes the temporaries and ends the program as the signal would have.
void remove_temporaries(int signal) {
  for (Slot& slot : slots) {
    if (slot.state == Slot::named) ::unlink(slot.name.data());
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Only where the signal would end the program: nohup and a handler set elsewhere keep theirs.
void install_handlers() {
  for (const int signal : deadly_signals) {
    struct sigaction current = {};
    if (::sigaction(signal, nullptr, &current) != 0 || current.sa_handler != SIG_DFL) continue;
    struct sigaction removal = {};
    removal.sa_handler = remove_temporaries;
    ::sigaction(signal, &removal, nullptr);
  }
}

/// The name of a temporary, known to the signal handler as long as this lives.
class WatchedName {
 public:
  explicit WatchedName(const std::string& name) {
    install_handlers();
    if (name.size() >= PATH_MAX) return;
    for (Slot& slot : slots) {
      int expected = Slot::free;
      if (!slot.state.compare_exchange_strong(expected, Slot::being_named)) continue;
      std::copy_n(name.c_str(), name.size() + 1, slot.name.begin());
      slot.state = Slot::named;
      slot_ = &slot;
      return;
    }
  }
  WatchedName(const WatchedName&) = delete;
  WatchedName& operator=(const WatchedName&) = delete;
  ~WatchedName() {
    if (slot_ != nullptr) slot_->state = Slot::free;
  }

 private:
  Slot* slot_ = nullptr;
};

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

/// Writes and closes: some file systems tell only then that the disk is full.
int write_and_close(int descriptor, std::string_view bytes) {
  const int written = write_all(descriptor, bytes);
  const int closed = ::close(descriptor) == 0 ? 0 : errno;
  return written != 0 ? written : closed;
}

/// A name beside `path` that no other thread or process takes. It does not grow with the file's own
/// name, which may be as long as the system allows.
fs::path temporary_name(const fs::path& path) {
  static std::atomic<unsigned> counter = 0;
  return path.parent_path() / fmt::format(".qkv-{}-{}.tmp", ::getpid(), counter++);
}

/// Opens a file that was not there before: a link that somebody put there is not followed.
int open_new(const fs::path& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

/// One try under one name; false where the name was taken.
bool write_through(const fs::path& temporary, const fs::path& path, std::string_view bytes) {
  const WatchedName watched(temporary.string());
  const int descriptor = open_new(temporary);
  if (descriptor < 0 && errno == EEXIST) return false;
  if (descriptor < 0 && errno == ENOENT) {
    refuse(path, "its directory does not exist: make it first");
  }
  if (descriptor < 0) refuse_errno(path, errno);
  int reason = write_and_close(descriptor, bytes);
  if (reason == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) reason = errno;
  if (reason == 0) return true;
  ::unlink(temporary.c_str());
  refuse_errno(path, reason);
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

void write_to_device(const fs::path& path, std::string_view bytes) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) refuse_errno(path, errno);
  const int reason = write_and_close(descriptor, bytes);
  if (reason != 0) refuse_errno(path, reason);
}

}  // namespace

void write_whole(const fs::path& path, std::string_view bytes) {
  std::error_code ignored;
  if (!path.has_filename() || fs::is_directory(fs::symlink_status(path, ignored))) {
    refuse(path, "this is a directory: name a file in it");
  }
  if (is_device(path)) return write_to_device(path, bytes);
  constexpr int tries = 100;
  for (int i = 0; i < tries; ++i) {
    if (write_through(temporary_name(path), path, bytes)) return;
  }
  refuse_errno(path, EEXIST);
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
