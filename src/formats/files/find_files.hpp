#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/format.hpp"
#include "formats/parsed_array.hpp"

namespace qkv::inline formats {

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

/// Reads a file, or a directory of files; of an export only the files in its manifest. Leading
/// numbers and "given-" are removed from names. Throws InputError if there is no matrix, or if a
/// file that the manifest or its format says holds numbers cannot be read.
ArrayCollection load_arrays(const std::filesystem::path& path, const OptionsOfFile& options_of);

/// A file of a directory or an archive, or one that was named itself.
struct ListedFile {
  std::filesystem::path path;  ///< in an archive: the archive's path and the entry's
  std::uintmax_t size = 0;     ///< of a file in an archive, unpacked
  /// Unpacks a file in an archive; empty for others. Throws InputError if it is damaged.
  std::function<std::string()> unpack = {};

  /// See read_arrays.
  std::vector<NamedArray> read(const ReadOptions& wanted) const;
};

/// True if the path has the extension of a zip archive.
bool is_archive(const std::filesystem::path& path);

/// Returns the files of a directory or zip archive and its subfolders, sorted by name. Files of
/// systems and editors are skipped, and links to directories are not followed. Throws InputError if
/// it cannot be read or has too many files.
std::vector<ListedFile> list_files(const std::filesystem::path& place);

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
bool agree(const ParsedArray& one, std::span<const Numeral> cells, const ParsedArray& other,
           std::span<const Numeral> other_cells);

/// True for a backup or lock file of an editor or system: ".Q.csv.swp", "Q.csv~", "#Q.csv#".
bool is_editor_backup(std::string_view name);

}  // namespace qkv::inline formats
