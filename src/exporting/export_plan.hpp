#pragma once

#include "exposition/selection.hpp"
#include "formats/files/read_file.hpp"
#include "formats/handwork/csv.hpp"

namespace qkv::inline exporting {

struct ExportOptions {
  bool plain = false;                     ///< numbers only, no labels
  std::optional<int> digits = {};         ///< decimals; if unset, all digits that a double needs
  std::vector<std::string> only = {};     ///< names of steps and givens; empty for all
  std::vector<std::string> formats = {};  ///< names of formats; empty for CSV
};

/// One file of an export: its name in the directory, and its content.
struct ExportedFile {
  std::string name;
  std::string bytes;
};

/// A file to be written; its content is produced on demand, since it may not fit in memory.
struct PlannedFile {
  std::string name;
  ContentWriter content;
  std::vector<std::string> holds = {};  ///< the steps and givens in it
  std::size_t cells = 0;                ///< how many numbers they have
  /// Escapes the file's text for a terminal; nullptr for binary files.
  std::string (*escape_for_terminal)(std::string_view) = nullptr;
};

/// The SHA-256 of each written file, by name.
using Checksums = std::map<std::string, std::string, std::less<>>;

/// The files of an export, before they are written.
struct ExportPlan {
  std::vector<PlannedFile> files;  ///< grouped by format
  /// Produces the manifest `00-lesson.json` from the checksums; it is written last.
  std::function<std::string(const Checksums&)> list;
};

/// Plans an export. Lesson and trace must outlive it. Throws InputError for an unknown name.
ExportPlan export_plan(const Lesson& lesson, const Trace& trace, const ExportOptions& options);

/// The data from which one file is produced.
struct FileContext;

/// An export format: a row of the table in export_plan.cpp.
struct ExportFormat {
  /// The content of one file: "06-scores.head-1.csv", "06-scores.npy", "lesson.npz".
  enum class Unit { matrix, tensor, lesson };

  std::string_view name;  ///< of the `Format`
  std::string_view help;  ///< help text: "one file for each matrix, with its labels"
  void (*write)(const FileContext&, const Sink&) = nullptr;
  std::string (*escape_for_terminal)(std::string_view) = nullptr;
  Unit unit = Unit::lesson;
  bool is_document = false;  ///< a text to read: it holds prose and rounded numbers
};

/// Returns all export formats, the default first.
std::span<const ExportFormat> export_formats();

/// Returns the formats of these names or lists of names, each once. Throws InputError.
std::vector<const ExportFormat*> find_export_formats(std::span<const std::string> names);

/// Returns the CSV files of a worksheet, named as in an export: givens with their numbers, steps
/// with labels and blank cells. Of a part of a lesson, a step's given cells have at most `digits`
/// decimals, as on the page, and unused cells are a dash.
std::vector<ExportedFile> worksheet_files(const Trace& trace, const WorksheetCells& cells,
                                          int digits);

}  // namespace qkv::inline exporting
