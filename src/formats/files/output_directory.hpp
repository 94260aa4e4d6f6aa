#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "formats/io.hpp"

namespace qkv::inline formats {

/// A directory that is open, so that what happens in it can be synced and locked.
class Directory {
 public:
  /// Throws InputError where it can't be opened: who may write into it but not read it can neither
  /// sync nor lock it.
  explicit Directory(std::filesystem::path path);
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory();

  /// Waits until the names in it are on the disk, unless disable_fsync was called. Throws
  /// InputError where the system fails at that.
  void sync() const;

  /// Lets no other qkv lock it, as long as this lives. Waits a while for one that has; then throws
  /// InputError. A file system without locks lets everyone through.
  void lock() const;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_;
};

/// A directory that is to be synced; nothing where disable_fsync was called.
std::optional<Directory> directory_to_sync(const std::filesystem::path& path);

/// Waits until what was written into an open file is on the disk, likewise. `path` is for messages.
void sync_file(int descriptor, const std::filesystem::path& path);

/// From now on nothing waits for the disk. It is for the person who starts the program to say, so
/// it holds for the whole process.
void disable_fsync();

/// Makes a directory and those above it, if they are not there yet; their names are synced. Throws
/// InputError where a file is in the way or nothing can be written there.
void make_directory(const std::filesystem::path& path);

/// A directory for files that belong together, and a list that says so: the list goes first and
/// comes last, and as long as this lives no other qkv writes such files there.
class OutputDirectory {
 public:
  /// Makes it where there is none, locks it, and clears up after programs that were killed. Then
  /// removes the list, and nothing else yet: what stands in the way of the list or of a file of
  /// these names, such as a pipe, is refused before. Throws InputError.
  OutputDirectory(const std::filesystem::path& path, std::span<const std::string> names);

  /// Writes a file of one of these names whole; no link, pipe or device is followed.
  void write(const std::string& name, const ContentWriter& content) const;

  /// Writes the list, once all files are synced.
  void write_manifest(const ContentWriter& content) const;

  /// Syncs what has no list.
  void finish() const { directory_.sync(); }

 private:
  Directory directory_;
};

}  // namespace qkv::inline formats
