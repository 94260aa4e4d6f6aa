#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exporting/export_plan.hpp"
#include "formats/format.hpp"
#include "formats/handwork/csv.hpp"
#include "trace/labels.hpp"

namespace qkv {

/// One named tensor on its way into files.
struct ExportEntry {
  std::string name;  ///< "scores"
  std::string stem;  ///< "06-scores"
  const Tensor* tensor = nullptr;
};

/// What one file is made of.
struct ExportJob {
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
  void (*write)(const ExportJob&, const Sink&) = nullptr;
  std::string (*for_screen)(std::string_view) = nullptr;
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

}  // namespace qkv
