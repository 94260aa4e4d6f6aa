#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "formats/format.hpp"

namespace qkv {

/// A file that was named, or lies in a directory or an archive that was.
struct FoundFile {
  std::filesystem::path path;             ///< in an archive behind the archive's own
  std::optional<std::string> bytes = {};  ///< of a file in an archive

  /// As read_all_written.
  std::vector<NamedWritten> read(const Wanted& wanted) const;
};

/// Whether a path names a zip archive by its extension.
bool is_archive(const std::filesystem::path& path);

/// The files of a directory or a zip archive and of the folders in it, in the order of their names;
/// what systems and editors keep there is left out, and links to directories are not followed.
/// Throws InputError where it can't be read, and for more files than anybody hands in.
std::vector<FoundFile> files_in(const std::filesystem::path& place);

}  // namespace qkv
