#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "formats/files/manifest.hpp"
#include "formats/parsed_array.hpp"
#include "trace/trace.hpp"

namespace qkv::inline check {

/// A matrix read from a file, and the step or given that the file name stands for.
struct SubmittedFile {
  std::string file;                       ///< for messages
  std::filesystem::path path = {};        ///< the file that was read
  std::string name;                       ///< the step or given
  std::vector<std::size_t> leading = {};  ///< from ".head-2": which matrix; empty for all
  ParsedArray written;
};

/// A learner's submission: a file, or a directory of files.
struct Submission {
  std::string name;  ///< the path as typed
  std::vector<SubmittedFile> files = {};
  std::vector<std::string> notes = {};  ///< messages about files that match no step or given
  std::optional<Manifest> list = {};    ///< the manifest, if the directory is an export
};

/// Reads a file or a directory. Throws InputError if nothing in it matches a step, if a matching
/// file cannot be read, or if two files have different numbers for the same matrix.
Submission read_submission(const std::filesystem::path& path, const Trace& trace);

}  // namespace qkv::inline check
