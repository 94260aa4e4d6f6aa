#include "check/side.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "check/step_name.hpp"

namespace qkv {
namespace {

Tensor tensor_of_written(const Written& written) {
  std::vector<double> values;
  values.reserve(written.cells.size());
  for (const Numeral& cell : written.cells) values.push_back(cell.value);
  Tensor tensor = tensor_of(written.shape, std::move(values));
  if (tensor.rank() == 2) {
    tensor.axes[0].labels = written.row_labels;
    tensor.axes[1].labels = written.column_labels;
  }
  return tensor;
}

std::optional<int> decimals_of(const Written& written) {
  if (written.precision != Precision::digits) return {};
  int most = 0;
  for (const Numeral& cell : written.cells) {
    if (std::isfinite(cell.value)) most = std::max(most, cell.decimals);
  }
  return most;
}

}  // namespace

SideIndex::SideIndex(const Side& side) : side_(&side) {
  for (const SideMatrix& matrix : side.matrices) names_.add(matrix.name);
}

const SideMatrix* SideIndex::find(std::string_view matrix) const {
  const auto place = names_.place(matrix);
  return place ? &side_->matrices[*place] : nullptr;
}

Side side_of(const std::string& name, const Trace& trace) {
  Side side{.name = name, .matrices = {}, .whole = true, .order = {}, .notes = {}, .unread = {}};
  for (const Given& given : trace.givens) {
    side.matrices.push_back(
        {.name = given.name, .tensor = as_shown(given.tensor, trace.convention), .is_given = true});
  }
  for (const Step& step : trace.steps) {
    side.matrices.push_back({step.name, as_shown(step.output, trace.convention)});
  }
  for (const SideMatrix& matrix : side.matrices) side.order.push_back(matrix.name);
  return side;
}

Side side_of(const std::string& name, Dump dump) {
  Side side{.name = name,
            .matrices = {},
            .whole = dump.whole_lesson,
            .order = std::move(dump.listed),
            .notes = std::move(dump.notes),
            .unread = std::move(dump.unread)};
  for (NamedWritten& matrix : dump.matrices) {
    side.matrices.push_back({.name = std::move(matrix.name),
                             .tensor = tensor_of_written(matrix.written),
                             .precision = matrix.written.precision,
                             .decimals = decimals_of(matrix.written)});
    matrix.written = {};  // two copies of everything are too many
  }
  return side;
}

void take_names_of(const Side& other, Side& side) {
  std::map<std::string, std::vector<std::string_view>> known;
  std::map<std::string, std::vector<SideMatrix*>> found;
  for (const SideMatrix& matrix : other.matrices)
    known[loose_name(matrix.name)].push_back(matrix.name);
  for (SideMatrix& matrix : side.matrices) found[loose_name(matrix.name)].push_back(&matrix);
  for (const auto& [name, matrices] : found) {
    const auto names = known.find(name);
    if (names == known.end() || names->second.size() > 1 || matrices.size() > 1) continue;
    matrices.front()->name = names->second.front();
  }
}

ExpectedSize sizes_of(const Side& side) {
  return [index = SideIndex(side)](
             const std::string& name) -> std::optional<std::array<std::size_t, 2>> {
    const SideMatrix* matrix = index.find(name);
    if (matrix == nullptr) return {};
    return std::array{matrix->tensor.rows(), matrix->tensor.columns()};
  };
}

}  // namespace qkv
