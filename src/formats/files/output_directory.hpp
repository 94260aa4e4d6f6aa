#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "formats/files/directory.hpp"
#include "formats/sink.hpp"

namespace qkv {

/// A directory for files that belong together, and a list that says so: the list goes first and
/// comes last, and as long as this lives no other qkv writes such files there.
class OutputDirectory {
 public:
  /// Makes it where there is none, locks it, and clears up after programs that were killed. Then
  /// removes the list, and nothing else yet: what stands in the way of the list or of a file of
  /// these names, such as a pipe, is refused before. Throws InputError.
  OutputDirectory(const std::filesystem::path& path, std::span<const std::string> names);

  /// Writes a file of one of these names whole; no link, pipe or device is followed.
  void write(const std::string& name, const FileContent& content) const;

  /// Writes the list, once all files are synced.
  void write_list(const FileContent& content) const;

  /// Syncs what has no list.
  void finish() const { directory_.sync(); }

 private:
  Directory directory_;
};

}  // namespace qkv
