#pragma once

#include <nettle/sha2.h>

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::inline formats {

/// The name of an export's manifest, in the same directory as its files.
inline constexpr std::string_view manifest_name = "00-lesson.json";

/// The manifest's entry of one given or step.
struct ManifestEntry {
  std::string name;
  std::vector<std::string> files;  ///< empty if it was left out
};

/// An export's manifest: the files in its directory, in the lesson's order.
struct Manifest {
  std::vector<ManifestEntry> entries;
  std::set<std::string, std::less<>> files;  ///< of all entries
  /// The SHA-256 of each file, by name; empty in manifests of older versions.
  std::map<std::string, std::string, std::less<>> sums;

  /// True if the export wrote a file of that name.
  bool lists(std::string_view file) const { return files.contains(file); }
};

/// Reads the manifest of a directory; nothing if there is none, or if it is not qkv's. Throws
/// InputError if it exists but cannot be read.
std::optional<Manifest> read_manifest(const std::filesystem::path& directory);

/// The manifests of directories, read once for all their files.
using ManifestCache = std::map<std::filesystem::path, std::optional<Manifest>>;

/// True if the file's SHA-256 differs from the one in the manifest beside it; false if there is no
/// manifest or no checksum. Throws InputError if the file cannot be read.
bool is_modified(const std::filesystem::path& file, ManifestCache& manifests);

/// Returns why a file does not match the manifest beside it, or a directory `list`, in one line:
/// "06-scores.csv is not the file that 00-lesson.json lists: …". Empty if it matches, or was never
/// exported. Throws InputError if a file cannot be read.
std::string verify_export(const std::filesystem::path& path, const std::optional<Manifest>& list);

/// True for a directory whose files are named like an export's ("06-scores.csv"), unless they are a
/// worksheet (a page beside them). Without a manifest it is an incomplete export.
bool has_exported_names(const std::filesystem::path& directory);

/// The SHA-256 (FIPS 180-4) of bytes that are added piece by piece.
class Sha256 {
 public:
  Sha256();

  void add(std::string_view bytes);

  /// Returns 64 hexadecimal digits, as sha256sum prints them, and starts a new sum.
  std::string hex();

 private:
  sha256_ctx state_;
};

}  // namespace qkv::inline formats
