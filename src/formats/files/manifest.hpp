#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace qkv {

/// The list of an export's files, which stands beside them and which readers trust.
inline constexpr std::string_view manifest_name = "00-lesson.json";

/// What the list says of one given or step.
struct ManifestEntry {
  std::string name;
  std::vector<std::string> files;  ///< none where it was left out
};

/// An export's list: what is in its directory, in the lesson's order.
struct Manifest {
  std::vector<ManifestEntry> entries;
  std::set<std::string, std::less<>> files;  ///< of all entries
  /// The SHA-256 of each file, by its name; none in the list of an older qkv.
  std::map<std::string, std::string, std::less<>> sums;

  /// Whether the export wrote a file of that name.
  bool lists(std::string_view file) const;
};

/// The list in a directory; nothing where there is none, or no export of qkv wrote it. Throws
/// InputError where it is there and can't be read.
std::optional<Manifest> read_manifest(const std::filesystem::path& directory);

}  // namespace qkv
