#pragma once

#include <nettle/sha2.h>

#include "formats/format.hpp"

namespace qkv::inline formats {

/// Returns what stands at a path, behind links: nothing if the system does not tell.
inline std::filesystem::file_status status_at(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::status(path, ignored);
}

/// The most bytes that a file of numbers may have.
inline constexpr std::size_t max_file_bytes = std::size_t{1} << 31;

/// Reads a whole file or pipe. Throws InputError if it does not exist, is a directory, cannot be
/// read, or has more than `limit` bytes.
std::string read_bytes(const std::filesystem::path& path, std::size_t limit = max_file_bytes);

/// Reads the wanted matrices of a file; its extension says how. Those of `.npz`, `.safetensors` and
/// JSON objects have names; any other file is one matrix without a name. Throws InputError, also
/// for an unknown extension and for a device.
std::vector<NamedArray> read_arrays(const std::filesystem::path& path,
                                    const ReadOptions& wanted = {});

/// Reads the only matrix of a file, or the one named `key`. Throws InputError as above, and if
/// `key` is unknown (with the nearest name), missing, or given for a file without names.
ParsedArray read_array(const std::filesystem::path& path,
                       const std::optional<std::string>& key = {});

/// Read-only access to a file's bytes. Regular files are mapped, so that only used pages are read;
/// pipes are read to the end. If another program truncates a mapped file, using a lost page ends
/// the program (SIGBUS).
class MappedFile : NotCopied {
 public:
  /// Throws InputError if the file does not exist, is a directory, or cannot be read.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();

  std::string_view bytes() const { return bytes_; }

  /// Gives the pages of a part of `bytes` back, so that they no longer count as qkv's memory. Who
  /// still reads there reads them from the file again.
  void release(std::string_view part) const;

 private:
  void* mapping_ = nullptr;  ///< nullptr if the bytes are a copy
  std::string copy_;
  std::string_view bytes_;
};

/// The name of an export's manifest, in the same directory as its files.
inline constexpr std::string_view manifest_name = "00-lesson.json";

/// The manifest's entry of one given or step.
struct ManifestEntry {
  std::string name;
  std::vector<std::string> files;  ///< empty if it was left out
};

/// An export's manifest: the files in its directory, in the lesson's order.
struct Manifest {
  std::filesystem::path folder = {};  ///< of its files
  std::vector<ManifestEntry> entries = {};
  std::set<std::string, std::less<>> files = {};  ///< of all entries
  /// The SHA-256 of each file, by name; empty in manifests of older versions.
  std::map<std::string, std::string, std::less<>> sums = {};

  /// True if the export wrote that file.
  bool lists(const std::filesystem::path& file) const {
    return file.parent_path() == folder && files.contains(file.filename().string());
  }
};

/// The manifests of directories, read once for all their files.
using ManifestCache = std::map<std::filesystem::path, std::optional<Manifest>>;

/// True if the file's SHA-256 differs from the one in the manifest beside it; false if there is no
/// manifest or no checksum. Throws InputError if the file cannot be read.
bool is_modified(const std::filesystem::path& file, ManifestCache& manifests);

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

/// A file in a directory that could not be read as numbers, and why.
struct UnreadableFile {
  std::string name;  ///< the matrix that the file name stands for: "scores", "README"
  std::string why;   ///< a message with its path
};

/// All matrices of a file or of a directory of files, by name.
struct ArrayCollection {
  std::vector<NamedArray> matrices;  ///< heads in separate files are joined into one array
  std::vector<std::string> notes;    ///< messages about what could not be used
  /// Files that hold no numbers. Only the name tells whether one should have been a matrix.
  std::vector<UnreadableFile> unreadable_files;
  /// Whether the manifest lists a whole lesson: a file that is not there is missing.
  bool whole_lesson = false;
  bool incomplete_export = false;   ///< files are named like an export's, but there is no manifest
  std::vector<std::string> listed;  ///< the names in the manifest, in the lesson's order
};

/// Returns how a file is read whose name stands for that matrix.
using OptionsOfFile = std::function<ReadOptions(const std::string& name)>;

/// Reads a file, or the files of a zip archive or a directory: those in its folders only if no
/// other holds numbers; of an export those in its manifest. Leading numbers and "given-" are
/// removed from names. Throws InputError if there is no matrix, or if a file that the manifest or
/// its format says holds numbers cannot be read.
ArrayCollection load_arrays(const std::filesystem::path& path, const OptionsOfFile& options_of);

/// A file of a directory or an archive, or one that was named itself.
struct ListedFile {
  std::filesystem::path path;  ///< in an archive: the archive's path and the entry's
  std::uintmax_t size = 0;     ///< of a file in an archive, unpacked
  /// Unpacks a file in an archive; empty for others. Throws InputError if it is damaged.
  std::function<std::string()> unpack = {};
  /// Why this archive cannot be read: its path is that of a file in it. Empty for others.
  std::string damage = {};

  /// See read_arrays.
  std::vector<NamedArray> read(const ReadOptions& wanted) const;

  /// True for a file of a kind that is read, but for a manifest.
  bool may_hold_numbers() const { return is_readable(path) && path.filename() != manifest_name; }
};

/// True if the path has the extension of a zip archive.
bool is_archive(const std::filesystem::path& path);

/// How many folders deep files are listed.
inline constexpr int max_folder_depth = 8;

/// Returns the file, or the files of a directory or zip archive, its subfolders and the archives in
/// it, sorted by name; an empty folder is listed with a slash at its end. Files of systems and
/// editors are skipped, and links to directories are not followed. Throws InputError if it cannot
/// be read or has too many files; an archive in it that cannot be read is listed with its damage.
/// With a depth of 0, those of the directory or archive itself.
std::vector<ListedFile> list_files(const std::filesystem::path& place,
                                   int depth = max_folder_depth);

/// Returns the manifest of the topmost folder that has one; nothing if there is none, or if it is
/// not qkv's. Throws InputError if it cannot be read.
std::optional<Manifest> manifest_among(std::span<const ListedFile> files);

/// Returns why some files do not match their manifest, or a lone file the one beside it, in one
/// line: "06-scores.csv is not the file that 00-lesson.json lists: …". Empty if they match, were
/// never exported, or are in an archive. Throws InputError if a file cannot be read.
std::string verify_export(std::span<const ListedFile> files, const std::optional<Manifest>& list);

/// The parts of a file's stem: "06-scores.batch-2.head-1" holds matrix 2, 1 of "scores".
struct FileStem {
  std::string name;                                         ///< of the step or given
  std::vector<std::pair<std::string, std::size_t>> places;  ///< {"batch", 2}, {"head", 1}; from 1
};

/// Parses a stem. A leading number, "given-" and the suffix of a copy (" (1)", " - Copy") are
/// removed. Example: "given-W_Q" is {"W_Q", {}}.
FileStem file_stem(std::string_view text);

/// Returns the stem without the suffix of a copy.
std::string_view strip_copy_suffix(std::string_view stem);

/// Returns the unit of an array's most decimals, or of its precision, unless it was rounded before.
double finest_unit(const ParsedArray& written);

/// Returns the unit of a cell, if `finest` is that of its array: in e-notation its own.
double unit_of(const ParsedArray& written, double finest, const Numeral& cell);

/// True if some cells of two arrays have the same numbers, to the precision of the coarser array.
bool agree(const ParsedArray& one, const NumeralCells& cells, const ParsedArray& other,
           const NumeralCells& other_cells);

/// True for a backup or lock file of an editor or system: ".Q.csv.swp", "Q.csv~", "#Q.csv#".
bool is_editor_backup(std::string_view name);

}  // namespace qkv::inline formats
