#pragma once

#include "formats/format.hpp"
#include "text/strings.hpp"

namespace qkv::inline formats {

/// Writes a file atomically, also if the power fails: a temporary file beside it, a sync, a rename,
/// a sync of the directory (disable_fsync omits both syncs). An existing file is replaced and its
/// mode kept; a link is replaced itself. On failure, SIGINT, SIGTERM or SIGHUP the temporary file
/// is removed. Throws InputError with path and reason, also for a pipe, a device or a directory.
void write_atomically(const std::filesystem::path& path, std::string_view bytes);

/// The same for a file too large for memory. Exceptions of `content` pass, and leave no file.
void write_atomically(const std::filesystem::path& path, const ContentWriter& content);

/// Throws InputError if a pipe, a device (also a link in /dev, such as /dev/stdout) or a directory
/// is at `path`. For commands that fail before their work; the writers above check it, too.
void refuse_unless_file(const std::filesystem::path& path);

/// Removes the temporary file that is being written. Safe in signal handlers.
void remove_temporary_file();

enum class TerminalLine { shown, gone };

/// Records whether an unfinished line (a progress bar) is on standard error, to be erased, too.
void set_terminal_line(TerminalLine line);

/// Writes all bytes to a descriptor, waiting when it is full. Returns 0, or errno on failure.
int write_all(int descriptor, std::string_view bytes);

/// An open directory that can be synced and locked.
class Directory : NotCopied {
 public:
  /// Throws InputError if it cannot be opened: syncing and locking need permission to read it.
  explicit Directory(std::filesystem::path path);
  ~Directory();

  /// Syncs the directory's entries, unless disable_fsync was called. Throws InputError on failure.
  void sync() const;

  /// Locks the directory against other qkv processes until destruction. Waits some seconds, then
  /// throws InputError. Does nothing on file systems without locks.
  void lock() const;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_;
};

/// Disables all syncing for the whole process: the user's --no-sync.
void disable_fsync();

/// Creates a directory and its parents, syncs their names, and returns the path. Throws InputError
/// if that fails.
std::filesystem::path make_directory(const std::filesystem::path& path);

/// A directory for an export. The manifest is removed first and written last; the directory stays
/// locked against other qkv processes meanwhile.
class OutputDirectory {
 public:
  /// Creates the directory if needed, locks it, and removes temporaries of killed programs. Then
  /// removes the manifest. Throws InputError, before that, if something else than a file, such as a
  /// pipe, has the name of the manifest or of one of the files.
  OutputDirectory(const std::filesystem::path& path, const NameViews& names);

  /// Writes a file of one of these names atomically; links, pipes and devices are not followed.
  void write(const std::string& name, const ContentWriter& content) const;

  /// Writes the manifest, after all files are synced.
  void write_manifest(const ContentWriter& content) const;

  /// Syncs an export that has no manifest.
  void finish() const { directory_.sync(); }

 private:
  Directory directory_;
};

}  // namespace qkv::inline formats
