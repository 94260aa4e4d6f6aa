#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "formats/files/manifest.hpp"
#include "formats/format.hpp"
#include "formats/sink.hpp"
#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace qkv {

struct ExportOptions {
  bool plain = false;                     ///< numbers only, no labels
  std::optional<int> digits = {};         ///< decimals; without it all digits that a double needs
  std::vector<std::string> only = {};     ///< these steps and givens; empty for everything
  std::vector<std::string> formats = {};  ///< names of formats; empty for CSV
};

/// One file of an export: its name in the directory, and what it holds.
struct ExportedFile {
  std::string name;
  std::string bytes;
};

/// The same before it is written: large ones never are in memory as a whole.
struct PlannedFile {
  std::string name;
  FileContent content;
  std::vector<std::string> holds = {};  ///< the steps and givens whose numbers are in it
  std::size_t cells = 0;                ///< how many numbers that makes
  /// Makes the file's text fit for a terminal; nullptr where it is no text.
  std::string (*for_screen)(std::string_view) = nullptr;
};

/// The SHA-256 of each file that was written, by its name.
using Checksums = std::map<std::string, std::string, std::less<>>;

/// An export before it is written.
struct ExportPlan {
  std::vector<PlannedFile> files;  ///< those of each format, in this order
  /// `00-lesson.json`, which says what each of them is, and is written last.
  std::function<std::string(const Checksums&)> list;
};

/// The files of an export. Lesson and trace must outlive the plan. Throws InputError for a name in
/// `only` that the trace does not have, and for a format that is not known.
ExportPlan export_plan(const Lesson& lesson, const Trace& trace, const ExportOptions& options);

/// What the files of a given or a step are called, without extension: "given-W_Q", "06-scores".
std::string exported_stem(const Given& given);
std::string exported_stem(const Trace& trace, const Step& step);

/// What follows the stem for one matrix of several: ".head-1", ".batch-2.head-1".
std::string exported_suffix(const Tensor& tensor, std::size_t index);

}  // namespace qkv
