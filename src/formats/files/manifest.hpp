#pragma once

#include <nettle/sha2.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::inline formats {

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

/// Whether a file is another than the list beside it names: it has another SHA-256. The list of an
/// older qkv, without sums, says nothing. Throws InputError where the file can't be read.
bool is_modified(const std::filesystem::path& file);

/// What speaks for an export: its givens, which are written first ("given-X.csv"), or any file that
/// is named as it names them ("06-scores.csv"); learners hand in such sheets without givens.
enum class ExportEvidence { givens, any_exported_file };

/// Why a file or a directory is not what an export wrote.
struct VerificationFailure {
  std::string says;  ///< "06-scores.csv is not the file that 00-lesson.json lists: …", in one line
  /// Its files have no list: they are copies, or the export was cut short.
  bool incomplete_export = false;
};

/// What there is to say of a file, with the list beside it, or of a directory, whose list is `list`
/// if there is one. What was never exported is beyond doubt, and so is a worksheet, which has a
/// page beside its files. Throws InputError where a file can't be read.
std::optional<VerificationFailure> verify_export(const std::filesystem::path& path,
                                                 const std::optional<Manifest>& list,
                                                 ExportEvidence sign);

/// The SHA-256 (FIPS 180-4) of bytes that come piece after piece.
class Sha256 {
 public:
  Sha256();

  void add(std::string_view bytes);

  /// In 64 hexadecimal digits, as sha256sum prints it; what is added then begins another.
  std::string hex();

 private:
  sha256_ctx state_;
};

/// The SHA-256 of a file. Throws InputError where it can't be read.
std::string sha256_of(const std::filesystem::path& path);

}  // namespace qkv::inline formats
