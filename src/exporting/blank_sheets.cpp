#include "exporting/blank_sheets.hpp"

#include <algorithm>
#include <limits>

#include "exporting/export_format.hpp"

namespace qkv {
namespace {

enum class Numbers { kept, left_out };

void tensor_csv(const std::string& stem, const Tensor& tensor, Convention convention,
                Numbers numbers, const std::function<void(ExportedFile)>& take) {
  Tensor shown = as_shown(tensor, convention);
  if (numbers == Numbers::left_out) {
    std::ranges::fill(shown.values.write(), std::numeric_limits<double>::quiet_NaN());
  }
  for (std::size_t m = 0; m < shown.matrices(); ++m) {
    const MatrixLabels labels = full_labels(tensor, m, convention);
    take({stem + exported_suffix(tensor, m) + ".csv",
          to_csv(csv_matrix(shown, m, labels), {.blanks = CsvBlanks::as_empty_cells})});
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
