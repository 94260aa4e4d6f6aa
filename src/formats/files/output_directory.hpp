#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "formats/io.hpp"

namespace qkv::inline formats {

/// An open directory that can be synced and locked.
class Directory {
 public:
  /// Throws InputError if it cannot be opened: syncing and locking need permission to read it.
  explicit Directory(std::filesystem::path path);
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
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

/// Opens the directory for syncing; nothing if disable_fsync was called.
std::optional<Directory> directory_to_sync(const std::filesystem::path& path);

/// Syncs an open file, unless disable_fsync was called. `path` is for messages.
void sync_file(int descriptor, const std::filesystem::path& path);

/// Disables all syncing for the whole process: the user's --no-sync.
void disable_fsync();

/// Creates a directory and its parents, and syncs their names. Throws InputError if that fails.
void make_directory(const std::filesystem::path& path);

/// A directory for an export. The manifest is removed first and written last; the directory stays
/// locked against other qkv processes meanwhile.
class OutputDirectory {
 public:
  /// Creates the directory if needed, locks it, and removes temporaries of killed programs. Then
  /// removes the manifest. Throws InputError, before that, if something else than a file, such as a
  /// pipe, has the name of the manifest or of one of the files.
  OutputDirectory(const std::filesystem::path& path, std::span<const std::string> names);

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
