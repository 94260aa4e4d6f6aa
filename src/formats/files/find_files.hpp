#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/format.hpp"
#include "formats/parsed_array.hpp"

namespace qkv::inline formats {

/// A file in a directory that does not read as numbers, and why.
struct UnreadableFile {
  std::string name;  ///< of the matrix that its own name means: "scores", "README"
  std::string why;   ///< in words, with its path
};

/// Matrices that lie in a file or in the files of a directory, by name, as a program wrote
/// them.
struct ArrayCollection {
  std::vector<NamedArray> matrices;  ///< heads in files of their own are one array again
  std::vector<std::string> notes;    ///< what was there but could not be used, in words
  /// What lies among the files of numbers and is none. Whether it should have been one, only its
  /// name can tell.
  std::vector<UnreadableFile> unread;
  /// Whether it is an export of a whole lesson, by its own list: what is not there is missing.
  bool whole_lesson = false;
  bool incomplete_export = false;   ///< its files are named as an export's, and have no list
  std::vector<std::string> listed;  ///< the names in the export's list, in the lesson's order
};

/// The size that a matrix of that name is to have, where that is known: see read_csv.
using ExpectedSize = std::function<std::optional<std::array<std::size_t, 2>>(const std::string&)>;

/// Reads a file or a directory of them; in an export's directory only what its list names. Numbers
/// in front of names and "given-" are dropped. Throws InputError where there is nothing, for a file
/// that can't be read, and in a directory for one that its list or its format says holds numbers.
ArrayCollection load_arrays(const std::filesystem::path& path, const ExpectedSize& expected);

/// A file that was named, or lies in a directory or an archive that was.
struct ListedFile {
  std::filesystem::path path;             ///< in an archive behind the archive's own
  std::optional<std::string> bytes = {};  ///< of a file in an archive

  /// As read_arrays.
  std::vector<NamedArray> read(const ReadOptions& wanted) const;
};

/// Whether a path names a zip archive by its extension.
bool is_archive(const std::filesystem::path& path);

/// The files of a directory or a zip archive and of the folders in it, in the order of their names;
/// what systems and editors keep there is left out, and links to directories are not followed.
/// Throws InputError where it can't be read, and for more files than anybody hands in.
std::vector<ListedFile> list_files(const std::filesystem::path& place);

/// A file's stem taken apart: "06-scores.batch-2.head-1" holds matrix 2, 1 of "scores".
struct FileStem {
  std::string name;                                         ///< of the step or given
  std::vector<std::pair<std::string, std::size_t>> places;  ///< {"batch", 2}, {"head", 1}; from 1
};

/// The number in front, "given-" and what a copy adds (" (1)", " - Copy") are dropped. Example:
/// "given-W_Q" is {"W_Q", {}}.
FileStem file_stem(std::string_view text);

/// The stem without what a copy adds.
std::string_view strip_copy_suffix(std::string_view stem);

/// Whether a file of that name is one that systems and editors keep beside those that people save:
/// ".Q.csv.swp", "Q.csv~", "#Q.csv#".
bool is_editor_backup(std::string_view name);

}  // namespace qkv::inline formats
