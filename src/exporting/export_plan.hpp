#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/files/manifest.hpp"
#include "formats/format.hpp"
#include "formats/handwork/csv.hpp"
#include "formats/io.hpp"
#include "lesson/lesson.hpp"
#include "trace/labels.hpp"
#include "trace/trace.hpp"

namespace qkv::inline exporting {

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
  ContentWriter content;
  std::vector<std::string> holds = {};  ///< the steps and givens whose numbers are in it
  std::size_t cells = 0;                ///< how many numbers that makes
  /// Makes the file's text fit for a terminal; nullptr where it is no text.
  std::string (*escape_for_terminal)(std::string_view) = nullptr;
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

/// One named tensor on its way into files.
struct ExportEntry {
  std::string name;  ///< "scores"
  std::string stem;  ///< "06-scores"
  const Tensor* tensor = nullptr;
};

/// What one file is made of.
struct FileContext {
  const Lesson* lesson = nullptr;
  const Trace* trace = nullptr;
  ExportOptions options;
  std::vector<ExportEntry> entries;  ///< one, unless the file holds the lesson
  std::size_t matrix = 0;            ///< which of the tensor's, where a file holds one
};

/// A format that lessons are exported to. A new one is a row of the table in export_format.cpp.
struct ExportFormat {
  /// What goes into one file: "06-scores.head-1.csv", "06-scores.npy", "lesson.npz".
  enum class Unit { matrix, tensor, lesson };

  const Format* format = nullptr;
  std::string_view says;  ///< for the help: "one file for each matrix, with its labels"
  void (*write)(const FileContext&, const Sink&) = nullptr;
  std::string (*escape_for_terminal)(std::string_view) = nullptr;
  Unit unit = Unit::matrix;
  bool is_document = false;  ///< for people: it holds the words, and numbers that are rounded
};

/// A matrix of a tensor that is laid out as people see it, for CSV. It points into both.
CsvMatrix csv_matrix(const Tensor& shown, std::size_t index, const MatrixLabels& labels);

/// All of them, the default first.
std::span<const ExportFormat> export_formats();

/// Their names: "csv", "npy", …
std::vector<std::string_view> export_format_names();

/// Those of these names, each once. A name may be a list with commas. Throws InputError
/// with the nearest name.
std::vector<const ExportFormat*> find_export_formats(std::span<const std::string> names);

/// Hands each CSV file of a lesson to fill in to `take`, named as export names them: the givens
/// with their numbers, the steps with their labels and blank cells.
void blank_worksheet_files(const Trace& trace, const std::function<void(ExportedFile)>& take);

}  // namespace qkv::inline exporting
