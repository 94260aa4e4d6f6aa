#include "exporting/blank_sheets.hpp"

#include <algorithm>
#include <limits>

#include "formats/csv.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

enum class Numbers { kept, left_out };

std::vector<std::string_view> views(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

void tensor_csv(const std::string& stem, const Tensor& tensor, Convention convention,
                Numbers numbers, const std::function<void(ExportedFile)>& take) {
  Tensor shown = as_shown(tensor, convention);
  if (numbers == Numbers::left_out) {
    std::ranges::fill(shown.values.write(), std::numeric_limits<double>::quiet_NaN());
  }
  for (std::size_t m = 0; m < shown.matrices(); ++m) {
    const MatrixLabels labels = full_labels(tensor, m, convention);
    take({stem + exported_suffix(tensor, m) + ".csv",
          to_csv({.rows = shown.rows(),
                  .columns = shown.columns(),
                  .values = shown.cells(m),
                  .row_labels = views(labels.rows),
                  .column_labels = views(labels.columns)},
                 {.blanks = CsvBlanks::as_empty_cells})});
  }
}

}  // namespace

void blank_sheets(const Trace& trace, const std::function<void(ExportedFile)>& take) {
  for (const Given& given : trace.givens) {
    tensor_csv(exported_stem(given), given.tensor, trace.convention, Numbers::kept, take);
  }
  for (const Step& step : trace.steps) {
    tensor_csv(exported_stem(trace, step), step.output, trace.convention, Numbers::left_out, take);
  }
}

}  // namespace qkv
