#include "formats/files/write_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <system_error>
#include <thread>

#include "formats/files/read_file.hpp"

namespace qkv::inline formats {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view front = ".qkv-";
constexpr std::string_view temporary_suffix = ".tmp";
constexpr mode_t permissions = 0777;
constexpr mode_t default_file_mode = 0666;  // minus the umask

[[noreturn]] void refuse_errno(const fs::path& path, int reason) {
  refuse(path, "the file cannot be written: {}", std::strerror(reason));
}

/// A name beside `path` that is unique among threads and processes. Its length does not depend on
/// the file's own name, which may be as long as the system allows.
fs::path temporary_name(const fs::path& path) {
  static std::atomic<unsigned> counter = 0;
  return path.parent_path() /
         fmt::format("{}{}-{}{}", front, ::getpid(), counter++, temporary_suffix);
}

/// The permissions of the existing file, which the new one keeps.
std::optional<mode_t> mode_at(const fs::path& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  return status.st_mode & permissions;
}

/// Creates a file that must not exist: links are not followed.
int open_new(const fs::path& name, std::optional<mode_t> mode) {
  constexpr mode_t owner_only_mode = 0600;  // private until it has its final mode
  const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                mode ? owner_only_mode : default_file_mode);
  // Some file systems have no modes.
  if (descriptor >= 0 && mode) static_cast<void>(::fchmod(descriptor, *mode));
  return descriptor;
}

/// Locks a new temporary file; false if a cleanup of stale files was faster.
bool is_ours(int descriptor) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  struct stat status = {};
  return ::fstat(descriptor, &status) != 0 || status.st_nlink > 0;
}

/// The name of the file that is being written, for the signal handler. It lies in static memory,
/// since a handler may not allocate; one file is written at a time.
std::array<char, PATH_MAX> temporary_path;
std::atomic<bool> has_temporary = false;
std::atomic<bool> line_on_terminal = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not wait for a lock");

constexpr std::array fatal_signals = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE,
                                      SIGALRM, SIGXCPU, SIGUSR1, SIGUSR2, SIGBUS};
constexpr std::string_view erase_line = "\r\x1b[K";

/// Removes temporary files and ends the program by the signal (130 for SIGINT, 143 for SIGTERM).
void clean_up(int signal) {
  remove_temporary_file();
  if (line_on_terminal) {
    [[maybe_unused]] const ssize_t ignored =
        ::write(STDERR_FILENO, erase_line.data(), erase_line.size());
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

/// Installs handlers only for default actions: nohup and other handlers keep theirs.
void install_handlers() {
  for (const int signal : fatal_signals) {
    struct sigaction current = {};
    if (::sigaction(signal, nullptr, &current) != 0 || current.sa_handler != SIG_DFL) continue;
    struct sigaction removal = {};
    removal.sa_handler = clean_up;
    ::sigaction(signal, &removal, nullptr);
  }
}

/// Has the file removed on a signal that ends the program, until `has_temporary` is false.
void clean_up_on_signal(const std::string& name) {
  install_handlers();
  if (name.size() >= PATH_MAX) return;  // the system refuses it, too
  std::copy_n(name.c_str(), name.size() + 1, temporary_path.begin());
  has_temporary = true;
}

std::atomic<bool> fsync_enabled = true;

/// Syncs an open file, unless disable_fsync was called. `path` is for messages.
void sync_file(int descriptor, const fs::path& path) {
  if (!fsync_enabled) return;
  while (::fsync(descriptor) != 0) {
    if (errno == EINTR) continue;
    if (errno == EINVAL || errno == ENOTSUP) return;  // a pipe, or a file system that cannot
    refuse(path.string(),
           "what was written is not safe on the disk: {}; --no-sync does not wait for it",
           std::strerror(errno));
  }
}

/// Opens the directory for syncing; nothing if disable_fsync was called.
std::optional<Directory> directory_to_sync(const fs::path& path) {
  return fsync_enabled ? std::optional<Directory>(std::in_place, path) : std::nullopt;
}

/// A locked temporary file next to its destination. A killed program leaves an unlocked one.
class TemporaryFile : NotCopied {
 public:
  /// Creates a temporary file for `path`, with the mode of the file there. Throws InputError.
  explicit TemporaryFile(const fs::path& path) : path_(path) {
    constexpr int tries = 100;
    for (int i = 0; i < tries; ++i) {
      if (open_as(temporary_name(path))) return;
    }
    refuse_errno(path, EEXIST);
  }
  /// Removes the file, unless it was committed.
  ~TemporaryFile() {
    if (!committed_) ::unlink(name_.c_str());
    has_temporary = false;
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  void append(std::string_view bytes) const {
    const int reason = write_all(descriptor_, bytes);
    if (reason != 0) refuse_errno(path_, reason);
  }

  /// Syncs the file and renames it to its destination.
  void commit() {
    sync_file(descriptor_, path_);
    // Some file systems report a full disk only on close; the lock must stay.
    const int copy = ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 0);
    if (copy >= 0 && ::close(copy) != 0) refuse_errno(path_, errno);
    if (::rename(name_.c_str(), path_.c_str()) != 0) refuse_errno(path_, errno);
    committed_ = true;
  }

 private:
  /// Tries one name; false if it is taken.
  bool open_as(const fs::path& name) {
    name_ = name;
    clean_up_on_signal(name.string());
    descriptor_ = open_new(name, mode_at(path_));
    if (descriptor_ >= 0 && is_ours(descriptor_)) return true;
    const int reason = descriptor_ >= 0 ? EEXIST : errno;
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
    has_temporary = false;
    if (reason == EEXIST) return false;
    if (reason == ENOENT) refuse(path_, "its directory does not exist: make it first");
    refuse_errno(path_, reason);
  }

  const fs::path& path_;
  fs::path name_;
  int descriptor_ = -1;
  bool committed_ = false;
};

bool is_temporary_name(std::string_view name) {
  if (!name.starts_with(front) || !name.ends_with(temporary_suffix)) return false;
  const std::string_view numbers =
      name.substr(front.size(), name.size() - front.size() - temporary_suffix.size());
  return std::ranges::count(numbers, '-') == 1 &&
         numbers.find_first_not_of("0123456789-") == std::string_view::npos;
}

/// True for a terminal, a pipe or a device, and for links in /dev: /dev/stdout must not be
/// replaced.
bool is_device(const fs::path& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0) return false;
  if (S_ISLNK(status.st_mode))
    return path.parent_path() == "/dev" || path.parent_path() == "/dev/fd";
  return !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

// ---------------------------------------------------------------- stale temporary files

/// Removes a temporary file that is not locked.
void remove_if_left(const fs::path& name) {
  const int descriptor = ::open(name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat status = {};
  const bool is_left = ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                       ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  if (is_left) ::unlink(name.c_str());
  ::close(descriptor);
}

/// Removes temporary files that killed programs left in a directory; those in use stay.
void remove_stale_temporaries(const fs::path& directory) {
  std::error_code error;
  for (auto entry = fs::directory_iterator(directory, error);
       !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (is_temporary_name(entry->path().filename().string())) remove_if_left(entry->path());
  }
}

using namespace std::chrono_literals;

// Another export takes a moment; one that hangs must not block others for long.
constexpr auto max_lock_wait = 10s;
constexpr auto retry_delay = 10ms;

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
  refuse(list, "the list of an earlier export cannot be removed: {}; nothing was written",
         std::strerror(errno));
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

void remove_temporary_file() {
  if (has_temporary) ::unlink(temporary_path.data());
}

void set_terminal_line(TerminalLine line) {
  if (line == TerminalLine::shown) install_handlers();
  line_on_terminal = line == TerminalLine::shown;
}

void refuse_unless_file(const fs::path& path) {
  if (is_device(path)) {
    refuse(path,
           "a pipe or a device is in the way of this file: name another file, or - for standard "
           "output");
  }
  std::error_code ignored;
  if (path.has_filename() && !fs::is_directory(fs::symlink_status(path, ignored))) return;
  refuse(path, "this is a directory: name a file in it");
}

void write_atomically(const fs::path& path, const ContentWriter& content) {
  refuse_unless_file(path);
  TemporaryFile temporary(path);
  const auto directory = directory_to_sync(path.parent_path());  // fails before the work
  content([&](std::string_view bytes) { temporary.append(bytes); });
  temporary.commit();
  if (directory) directory->sync();
}

void write_atomically(const fs::path& path, std::string_view bytes) {
  write_atomically(path, [bytes](const Sink& sink) { sink(bytes); });
}

Directory::Directory(fs::path path)
    : path_(std::move(path)),
      descriptor_(::open(path_.empty() ? "." : path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ >= 0) return;
  refuse(
      path_.string(),
      "the directory can't be opened, which it must be to lock and sync what is written there: {}",
      std::strerror(errno));
}

Directory::~Directory() { ::close(descriptor_); }

void Directory::sync() const { sync_file(descriptor_, path_); }

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

void disable_fsync() { fsync_enabled = false; }

fs::path make_directory(const fs::path& path) {
  const std::vector<fs::path> parents = parents_to_change(path);
  std::error_code error;
  fs::create_directories(path, error);
  if (!fs::is_directory(status_at(path))) {
    if (!error || error == std::errc::file_exists || error == std::errc::not_a_directory) {
      refuse(path, "a file is in the way of this directory: remove it or name another directory");
    }
    refuse(path, "the directory cannot be made: {}", error.message());
  }
  if (::access(path.c_str(), W_OK | X_OK) != 0) {
    refuse(path, "nothing can be written in this directory: {}", std::strerror(errno));
  }
  for (const fs::path& parent : parents) {
    if (const auto changed = directory_to_sync(parent)) changed->sync();
  }
  return path;
}

OutputDirectory::OutputDirectory(const fs::path& path, const NameViews& names)
    : directory_(make_directory(path)) {
  directory_.lock();
  for (const std::string_view name : names) refuse_in_the_way(path / name);
  refuse_in_the_way(path / manifest_name);
  remove_stale_temporaries(path);
  remove_manifest(directory_);
}

void OutputDirectory::write(const std::string& name, const ContentWriter& content) const {
  const fs::path path = directory_.path() / name;
  refuse_unless_file(path);
  TemporaryFile temporary(path);
  content([&](std::string_view bytes) { temporary.append(bytes); });
  temporary.commit();
}

void OutputDirectory::write_manifest(const ContentWriter& content) const {
  directory_.sync();
  write(std::string(manifest_name), content);
  directory_.sync();
}

}  // namespace qkv::inline formats
