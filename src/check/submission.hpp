#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "formats/manifest.hpp"
#include "formats/written.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// One matrix as a file holds it, and the step or given that its name means.
struct HandedFile {
  std::string file;                  ///< for messages
  std::string name;                  ///< the step or given
  std::vector<std::size_t> leading;  ///< from ".head-2": which matrix of the step; empty for all
  Written written;
};

/// What a learner handed in: a file, or a directory of files.
struct Submission {
  std::string name;  ///< the path, as it was typed
  std::vector<HandedFile> files;
  std::vector<std::string> notes;  ///< what was there but fits nothing, in words
  std::optional<Manifest> list;    ///< where the directory is an export
};

/// Reads a file or a directory. Throws InputError where nothing in it fits a step, or where a file
/// that does can't be read.
Submission read_submission(const std::filesystem::path& path, const Trace& trace);

/// How a whole submission is written down.
enum class Turned { no, yes };

/// A step's or given's matrix as the learner has it, laid out as the lesson's tensor is inside.
struct Handed {
  std::string name;
  std::vector<std::string> files;
  bool fits = true;            ///< its size is the step's
  Shape shape;                 ///< of the cells, inside: a token is a row
  std::vector<Numeral> cells;  ///< NaN where blank
  Precision precision = Precision::digits;
};

/// The submission's matrices, each put together from its files, in the lesson's order. With
/// `turned` every matrix is taken to have its tokens the other way round.
std::vector<Handed> arrange(const Submission& submission, const Trace& trace, Turned turned);

}  // namespace qkv
