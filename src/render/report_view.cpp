#include "render/report_view.hpp"

#include <numeric>

#include "render/step_words.hpp"

namespace qkv {
namespace {

// What a page shows whole: 64 tokens, four heads. Beyond that, what fits into one look.
constexpr std::size_t most_whole = 64;
constexpr std::size_t most_cells = 4 * most_whole * most_whole;
constexpr std::size_t most_whole_matrices = 16;
constexpr std::size_t most_rows = 16;
constexpr std::size_t most_columns = 12;
constexpr std::size_t most_matrices = 4;

// The first and the last ones, as many of each.
std::vector<std::size_t> ends_of(std::size_t count, std::size_t most) {
  std::vector<std::size_t> shown(std::min(count, most));
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  for (std::size_t i = most / 2; i < shown.size() && count > most; ++i) shown[i] += count - most;
  return shown;
}

// All but those before the last one.
std::vector<std::size_t> first_and_last(std::size_t count, std::size_t most) {
  std::vector<std::size_t> shown(std::min(count, most));
  std::iota(shown.begin(), shown.end(), std::size_t{0});
  if (count > most) shown.back() = count - 1;
  return shown;
}

bool shows_whole(const Tensor& tensor) {
  return tensor.rows() <= most_whole && tensor.columns() <= most_whole &&
         tensor.values.size() <= most_cells;
}

// The page brings along whatever number its arithmetic reads: a small result of large weights shows
// only some of its columns, so that it reads only those of theirs.
bool reads_little(const Trace& trace, const Step& step) {
  std::size_t count = 0;
  for (const std::string& name : step.of) count += trace.at(name).values.size();
  return count <= 2 * most_cells;
}

TensorView view_of(std::string name, const Tensor& tensor, const Step* step, bool whole) {
  return {
      .name = std::move(name),
      .tensor = &tensor,
      .step = step,
      .matrices = first_and_last(tensor.matrices(), whole ? most_whole_matrices : most_matrices),
      .rows = ends_of(tensor.rows(), whole ? most_whole : most_rows),
      .columns = ends_of(tensor.columns(), whole ? most_whole : most_columns)};
}

}  // namespace

std::array<std::size_t, 3> TensorView::extents() const {
  return {matrices.size(), rows.size(), columns.size()};
}

std::vector<ShownCell> TensorView::cells() const {
  std::vector<ShownCell> cells;
  cells.reserve(matrices.size() * rows.size() * columns.size());
  for (std::size_t m = 0; m < matrices.size(); ++m) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t j = 0; j < columns.size(); ++j) {
        cells.push_back({{matrices[m], rows[i], columns[j]}, {m, i, j}});
      }
    }
  }
  return cells;
}

TensorView view_of(std::string name, const Tensor& tensor) {
  return view_of(std::move(name), tensor, nullptr, shows_whole(tensor));
}

std::vector<TensorView> views_of(const Trace& trace) {
  std::vector<TensorView> views;
  for (const Step& step : trace.steps) {
    for (const Given* given : first_used_by(trace, step)) {
      views.push_back(view_of(given->name, given->tensor));
    }
    const bool whole = shows_whole(step.output) && reads_little(trace, step);
    views.push_back(view_of(step.name, step.output, &step, whole));
  }
  return views;
}

std::size_t gap_in(const std::vector<std::size_t>& shown) {
  for (std::size_t i = 1; i < shown.size(); ++i) {
    if (shown[i] != shown[i - 1] + 1) return i;
  }
  return 0;
}

}  // namespace qkv
