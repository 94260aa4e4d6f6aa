#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "formats/io.hpp"

namespace qkv::inline formats {

/// Writes a file atomically, also if the power fails: a temporary file beside it, a sync, a rename,
/// a sync of the directory (disable_fsync omits both syncs). An existing file is replaced and its
/// mode kept; a link is replaced itself. On failure, SIGINT, SIGTERM or SIGHUP the temporary file
/// is removed. Devices such as /dev/stdout, and pipes with a reader, are written directly. Throws
/// InputError with path and reason.
void write_atomically(const std::filesystem::path& path, std::string_view bytes);

/// The same for a file too large for memory. Exceptions of `content` pass, and leave no file.
void write_atomically(const std::filesystem::path& path, const ContentWriter& content);

/// The same without the directory's sync, and devices and pipes are replaced like files.
void replace_atomically(const std::filesystem::path& path, const ContentWriter& content);

/// Removes temporary files that killed programs left in a directory; those in use stay.
void remove_stale_temporaries(const std::filesystem::path& directory);

/// Removes a temporary file on SIGINT, SIGTERM or SIGHUP while this object lives. The program then
/// ends by that signal.
class CleanupOnSignal {
 public:
  struct Slot;

  explicit CleanupOnSignal(const std::string& name);
  CleanupOnSignal(const CleanupOnSignal&) = delete;
  CleanupOnSignal& operator=(const CleanupOnSignal&) = delete;
  ~CleanupOnSignal();

 private:
  Slot* slot_ = nullptr;
};

/// Removes all files with a CleanupOnSignal. Safe in signal handlers: never allocates or waits.
void remove_temporary_files();

enum class TerminalLine { shown, gone };

/// Records whether an unfinished line (a progress bar) is on standard error, to be erased, too.
void set_terminal_line(TerminalLine line);

/// A locked temporary file next to its destination. A killed program leaves an unlocked one.
class TemporaryFile {
 public:
  /// Creates a temporary file for `path`, with the mode of the file there. Throws InputError.
  explicit TemporaryFile(const std::filesystem::path& path);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  /// Removes the file, unless it was committed.
  ~TemporaryFile();

  void append(std::string_view bytes) const;

  /// Syncs the file and renames it to its destination.
  void commit();

 private:
  bool open_as(const std::filesystem::path& name);

  const std::filesystem::path& path_;
  std::filesystem::path name_;
  std::optional<CleanupOnSignal> cleanup_;
  int descriptor_ = -1;
  bool committed_ = false;
};

/// Writes all bytes to a descriptor, waiting when it is full. Returns 0, or errno on failure.
int write_all(int descriptor, std::string_view bytes);

/// True if the name is that of a temporary file.
bool is_temporary_name(std::string_view name);

}  // namespace qkv::inline formats
