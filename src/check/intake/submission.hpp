#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "formats/files/manifest.hpp"
#include "formats/parsed_array.hpp"
#include "trace/trace.hpp"

namespace qkv::inline check {

/// One matrix as a file holds it, and the step or given that its name means.
struct SubmittedFile {
  std::string file;                  ///< for messages
  std::filesystem::path path = {};   ///< where it was read
  std::string name;                  ///< the step or given
  std::vector<std::size_t> leading;  ///< from ".head-2": which matrix of the step; empty for all
  ParsedArray written;
};

/// What a learner handed in: a file, or a directory of files.
struct Submission {
  std::string name;  ///< the path, as it was typed
  std::vector<SubmittedFile> files;
  std::vector<std::string> notes;  ///< what was there but fits nothing, in words
  std::optional<Manifest> list;    ///< where the directory is an export
};

/// Reads a file or a directory. Throws InputError where nothing in it fits a step, where a file
/// that does can't be read, and where two files have different numbers for the same matrix.
Submission read_submission(const std::filesystem::path& path, const Trace& trace);

}  // namespace qkv::inline check
