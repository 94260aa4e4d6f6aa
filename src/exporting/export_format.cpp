#include "exporting/export_format.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>

#include "document/document.hpp"
#include "formats/arrays/json.hpp"
#include "formats/arrays/npy.hpp"
#include "formats/arrays/npz.hpp"
#include "formats/arrays/safetensors.hpp"
#include "text/error.hpp"
#include "text/escape.hpp"
#include "text/suggest.hpp"

namespace qkv {
namespace {

/// A job's tensors as people see them. Only those that are turned over are copied.
class Shown {
 public:
  explicit Shown(const ExportJob& job) {
    for (const ExportEntry& entry : job.entries) {
      const Tensor* tensor = entry.tensor;
      if (is_turned(*tensor, job.trace->convention)) {
        tensor = &turned_.emplace_back(as_shown(*tensor, job.trace->convention));
      }
      tensors_.push_back({entry.name, tensor});
    }
  }

  const std::vector<NamedTensor>& tensors() const { return tensors_; }
  const Tensor& one() const { return *tensors_.front().tensor; }

 private:
  std::deque<Tensor> turned_;  // a deque never moves them
  std::vector<NamedTensor> tensors_;
};

/// One matrix of a tensor, turned over.
Tensor turned_matrix(const Tensor& tensor, std::size_t index) {
  const auto values = tensor.cells(index);
  return transposed(tensor_of({tensor.rows(), tensor.columns()}, {values.begin(), values.end()}));
}

void export_csv(const ExportJob& job, const Sink& sink) {
  const Tensor& tensor = *job.entries.front().tensor;
  const bool turned = is_turned(tensor, job.trace->convention);
  const Tensor copy = turned ? turned_matrix(tensor, job.matrix) : Tensor{};
  const MatrixLabels labels = full_labels(tensor, job.matrix, job.trace->convention);
  write_csv(turned ? csv_matrix(copy, 0, labels) : csv_matrix(tensor, job.matrix, labels),
            {.labels = job.options.plain ? CsvLabels::left_out : CsvLabels::written,
             .digits = job.options.digits},
            sink);
}

void export_npy(const ExportJob& job, const Sink& sink) {
  const Shown shown(job);
  sink(npy_header(shown.one().shape()));
  shown.one().values.in_pieces([&](auto piece) { sink(bytes_of(piece)); });
}

void export_npz(const ExportJob& job, const Sink& sink) { write_npz(Shown(job).tensors(), sink); }

void export_json(const ExportJob& job, const Sink& sink) {
  write_json(Shown(job).tensors(), job.options.digits, sink);
}

void export_safetensors(const ExportJob& job, const Sink& sink) {
  const bool columns = job.trace->convention == Convention::columns;
  write_safetensors(Shown(job).tensors(),
                    {{"lesson", job.lesson->name},
                     {"title", job.lesson->title},
                     {"convention", columns ? "columns" : "rows"}},
                    sink);
}

DocumentLook look_of(const ExportJob& job) {
  DocumentLook look{.labels = !job.options.plain, .only = job.options.only};
  if (job.options.digits) look.digits = *job.options.digits;
  return look;
}

void export_markdown(const ExportJob& job, const Sink& sink) {
  sink(markdown_document(*job.lesson, *job.trace, look_of(job)));
}

void export_latex(const ExportJob& job, const Sink& sink) {
  sink(latex_document(*job.lesson, *job.trace, look_of(job)));
}

constexpr ExportFormat known_formats[] = {
    {.format = &formats::csv,
     .says = "a file for each matrix, with its labels",
     .write = export_csv,
     .for_screen = visible_prose,
     .unit = ExportFormat::Unit::matrix},
    {.format = &formats::npy,
     .says = "a NumPy array for each step, heads and all",
     .write = export_npy,
     .unit = ExportFormat::Unit::tensor},
    {.format = &formats::npz,
     .says = "all NumPy arrays in one file, by name",
     .write = export_npz,
     .unit = ExportFormat::Unit::lesson},
    {.format = &formats::json,
     .says = "all numbers as nested lists, by name",
     .write = export_json,
     .for_screen = visible_json,
     .unit = ExportFormat::Unit::lesson},
    {.format = &formats::safetensors,
     .says = "all tensors in one file, F64, by name",
     .write = export_safetensors,
     .unit = ExportFormat::Unit::lesson},
    {.format = &formats::markdown,
     .says = "the walk as a page, every matrix a table",
     .write = export_markdown,
     .for_screen = visible_prose,
     .unit = ExportFormat::Unit::lesson,
     .is_document = true},
    {.format = &formats::latex,
     .says = "the walk as a document for pdflatex",
     .write = export_latex,
     .for_screen = visible_prose,
     .unit = ExportFormat::Unit::lesson,
     .is_document = true},
};

const ExportFormat& find_export_format(std::string_view name) {
  for (const ExportFormat& format : known_formats) {
    if (format.format->name == name) return format;
  }
  throw InputError(fmt::format("there is no format \"{}\"; {}", visible(name),
                               did_you_mean(name, export_format_names())));
}

}  // namespace

CsvMatrix csv_matrix(const Tensor& shown, std::size_t index, const MatrixLabels& labels) {
  return {.rows = shown.rows(),
          .columns = shown.columns(),
          .values = shown.cells(index),
          .row_labels = {labels.rows.begin(), labels.rows.end()},
          .column_labels = {labels.columns.begin(), labels.columns.end()}};
}

std::span<const ExportFormat> export_formats() { return known_formats; }

std::vector<std::string_view> export_format_names() {
  std::vector<std::string_view> names;
  for (const ExportFormat& format : known_formats) names.push_back(format.format->name);
  return names;
}

std::vector<const ExportFormat*> find_export_formats(std::span<const std::string> names) {
  std::vector<const ExportFormat*> found;
  const auto add = [&](std::string_view name) {
    const ExportFormat* format = &find_export_format(name);
    if (std::find(found.begin(), found.end(), format) == found.end()) found.push_back(format);
  };
  for (const std::string& list : names) {
    for (std::size_t start = 0; start <= list.size();) {
      const std::size_t end = std::min(list.find(',', start), list.size());
      add(std::string_view(list).substr(start, end - start));
      start = end + 1;
    }
  }
  return found;
}

}  // namespace qkv
