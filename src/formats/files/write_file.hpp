#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "formats/io.hpp"

namespace qkv::inline formats {

/// Writes a file so that it appears whole or not at all, also where the power fails: into a
/// temporary file beside it, which is synced and then takes its name; then the directory is synced
/// (disable_fsync leaves both out). Whatever had the name is replaced, and its mode kept; a
/// link itself, not what it points to. On failure, SIGINT, SIGTERM or SIGHUP the temporary is
/// removed. A device, such as /dev/stdout, is written to as it is, and so is a pipe that is read.
/// Throws InputError with the path and the reason.
void write_atomically(const std::filesystem::path& path, std::string_view bytes);

/// The same for a file too large to have in memory. Whatever `content` throws passes through, and
/// leaves no file.
void write_atomically(const std::filesystem::path& path, const ContentWriter& content);

/// The same but that the directory is not synced, and that no device or pipe is written to: what
/// has the name is replaced, whatever it is.
void replace_atomically(const std::filesystem::path& path, const ContentWriter& content);

/// Removes the temporaries in a directory that killed programs left behind; those that are still
/// written to are left alone.
void remove_stale_temporaries(const std::filesystem::path& directory);

/// The name of a temporary file: on SIGINT, SIGTERM or SIGHUP it is removed, as long as this lives.
/// The program then ends as the signal ends it.
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

/// Removes the temporary files that have a CleanupOnSignal now. For handlers of signals: it
/// allocates nothing and never waits.
void remove_temporary_files();

enum class TerminalLine { shown, gone };

/// Says whether a line without an end, such as a progress bar, stands on standard error: the same
/// signals erase it.
void set_terminal_line(TerminalLine line);

/// A file being written beside the one that it is to become. It is locked as long as it is open:
/// what no one has locked was left behind by a program that was killed.
class TemporaryFile {
 public:
  /// For the file that is to stand at `path`: it gets the mode of what stands there now. Throws
  /// InputError where none can be made.
  explicit TemporaryFile(const std::filesystem::path& path);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  /// Removes it, unless it has taken its place.
  ~TemporaryFile();

  void append(std::string_view bytes) const;

  /// Syncs it and gives it the name that it was made for.
  void commit();

 private:
  bool open_as(const std::filesystem::path& name);

  const std::filesystem::path& path_;
  std::filesystem::path name_;
  std::optional<CleanupOnSignal> cleanup_;
  int descriptor_ = -1;
  bool committed_ = false;
};

/// Writes it all to a descriptor, and waits where that takes no more for now; the reason where it
/// fails, else 0.
int write_all(int descriptor, std::string_view bytes);

/// Whether a file has the name of a temporary.
bool is_temporary_name(std::string_view name);

}  // namespace qkv::inline formats
