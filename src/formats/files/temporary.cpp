#include "formats/files/temporary.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "formats/files/directory.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view front = ".qkv-";
constexpr std::string_view end = ".tmp";
constexpr mode_t permissions = 0777;
constexpr mode_t of_new_files = 0666;  // less what the umask takes away

[[noreturn]] void refuse_errno(const fs::path& path, int reason) {
  refuse(path, fmt::format("the file cannot be written: {}", std::strerror(reason)));
}

/// A name beside `path` that no other thread or process takes. It does not grow with the file's own
/// name, which may be as long as the system allows.
fs::path temporary_name(const fs::path& path) {
  static std::atomic<unsigned> counter = 0;
  return path.parent_path() / fmt::format("{}{}-{}{}", front, ::getpid(), counter++, end);
}

/// The permissions of the file that is there already, which the new one is to have.
std::optional<mode_t> mode_at(const fs::path& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return status.st_mode & permissions;
}

/// Opens a file that was not there before: a link that was put there is not followed.
int open_new(const fs::path& name, std::optional<mode_t> mode) {
  constexpr mode_t for_its_owner = 0600;  // until it has its mode, no one else looks into it
  const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                mode ? for_its_owner : of_new_files);
  // A file system that has no modes keeps none.
  if (descriptor >= 0 && mode) static_cast<void>(::fchmod(descriptor, *mode));
  return descriptor;
}

/// Locks a new temporary; false where who clears up after killed programs was faster.
bool is_ours(int descriptor) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat status = {};
  return ::fstat(descriptor, &status) != 0 || status.st_nlink > 0;
}

/// Some file systems tell only when a file is closed that the disk is full; the lock must stay.
int closing_failure(int descriptor) {
  const int copy = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  return copy < 0 || ::close(copy) == 0 ? 0 : errno;
}

}  // namespace

int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EAGAIN) {
      pollfd ready{.fd = descriptor, .events = POLLOUT, .revents = 0};
      ::poll(&ready, 1, -1);
      continue;
    }
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

bool is_temporary_name(std::string_view name) {
  if (!name.starts_with(front) || !name.ends_with(end)) return false;
  const std::string_view numbers =
      name.substr(front.size(), name.size() - front.size() - end.size());
  return std::ranges::count(numbers, '-') == 1 &&
         numbers.find_first_not_of("0123456789-") == std::string_view::npos;
}

Temporary::Temporary(const fs::path& path) : path_(path) {
  constexpr int tries = 100;
  for (int i = 0; i < tries; ++i) {
    if (open_as(temporary_name(path))) return;
  }
  refuse_errno(path, EEXIST);
}

/// One try under one name; false where the name was taken.
bool Temporary::open_as(const fs::path& name) {
  name_ = name;
  watched_.emplace(name.string());
  descriptor_ = open_new(name, mode_at(path_));
  if (descriptor_ >= 0 && is_ours(descriptor_)) return true;
  const int reason = descriptor_ >= 0 ? EEXIST : errno;
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  watched_.reset();
  if (reason == EEXIST) return false;
  if (reason == ENOENT) refuse(path_, "its directory does not exist: make it first");
  refuse_errno(path_, reason);
}

Temporary::~Temporary() {
  if (!in_place_) ::unlink(name_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

void Temporary::append(std::string_view bytes) const {
  const int reason = write_all(descriptor_, bytes);
  if (reason != 0) refuse_errno(path_, reason);
}

void Temporary::take_its_place() {
  sync_file(descriptor_, path_);
  const int reason = closing_failure(descriptor_);
  if (reason != 0) refuse_errno(path_, reason);
  if (::rename(name_.c_str(), path_.c_str()) != 0) refuse_errno(path_, errno);
  in_place_ = true;
}

}  // namespace qkv
