#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "formats/parsed_array.hpp"

namespace qkv {

/// A file in a directory that does not read as numbers, and why.
struct UnreadFile {
  std::string name;  ///< of the matrix that its own name means: "scores", "README"
  std::string why;   ///< in words, with its path
};

/// Matrices that lie in a file or in the files of a directory, by name, as a program wrote
/// them.
struct Dump {
  std::vector<NamedWritten> matrices;  ///< heads in files of their own are one array again
  std::vector<std::string> notes;      ///< what was there but could not be used, in words
  /// What lies among the files of numbers and is none. Whether it should have been one, only its
  /// name can tell.
  std::vector<UnreadFile> unread;
  /// Whether it is an export of a whole lesson, by its own list: what is not there is missing.
  bool whole_lesson = false;
  bool half_export = false;         ///< its files are named as an export's, and have no list
  std::vector<std::string> listed;  ///< the names in the export's list, in the lesson's order
};

/// The size that a matrix of that name is to have, where that is known: see read_csv.
using ExpectedSize = std::function<std::optional<std::array<std::size_t, 2>>(const std::string&)>;

/// Reads a file or a directory of them; in an export's directory only what its list names. Numbers
/// in front of names and "given-" are dropped. Throws InputError where there is nothing, for a file
/// that can't be read, and in a directory for one that its list or its format says holds numbers.
Dump read_dump(const std::filesystem::path& path, const ExpectedSize& expected);

}  // namespace qkv
