#include "page/report_view.hpp"

#include <algorithm>

#include "exposition/step_words.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

// What a page shows whole: 64 tokens, four heads. Beyond that, what fits into one look.
constexpr std::size_t most_whole = 64;
constexpr std::size_t most_cells = 4 * most_whole * most_whole;
constexpr std::size_t most_whole_matrices = 16;
constexpr std::size_t most_rows = 16;
constexpr std::size_t most_columns = 12;
constexpr std::size_t most_matrices = 4;

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

// What a step makes of text alone, and what a later one looks up by.
bool are_ids(const Trace& trace, std::string_view name) {
  const Step* own = trace.find_step(name);
  if (own && own->operation->most == 0) return true;
  return std::ranges::any_of(trace.steps, [&](const Step& step) {
    return step.operation->by_ids && step.of.front() == name;
  });
}

TensorView view_of(std::string name, const Tensor& tensor, const Step* step, bool whole) {
  const std::size_t matrices = whole ? most_whole_matrices : most_matrices;
  const std::size_t rows = whole ? most_whole : most_rows;
  const std::size_t columns = whole ? most_whole : most_columns;
  return {.name = std::move(name),
          .tensor = &tensor,
          .step = step,
          .matrices = first_and_last(std::min(tensor.matrices(), matrices), tensor.matrices()),
          .rows = selected(std::min(tensor.rows(), rows), tensor.rows()),
          .columns = selected(std::min(tensor.columns(), columns), tensor.columns())};
}

// Only the matrices of that head, where there are such.
void choose_head(TensorView& view, std::size_t head) {
  const Tensor& tensor = *view.tensor;
  Selection chosen{.indices = {}, .count = tensor.matrices()};
  for (std::size_t m = 0; m < tensor.matrices(); ++m) {
    if (head_of(tensor, m) == head) chosen.indices.push_back(m);
  }
  if (chosen.shown() > most_matrices) chosen.indices.resize(most_matrices);
  if (chosen.shown() == 0) return;
  view.one_head = chosen.hidden() > 0;
  view.matrices = std::move(chosen);
}

}  // namespace

std::array<std::size_t, 3> TensorView::extents() const {
  return {matrices.shown(), rows.shown(), columns.shown()};
}

std::vector<ShownCell> TensorView::cells() const {
  std::vector<ShownCell> cells;
  cells.reserve(matrices.shown() * rows.shown() * columns.shown());
  for (std::size_t m = 0; m < matrices.shown(); ++m) {
    for (std::size_t i = 0; i < rows.shown(); ++i) {
      for (std::size_t j = 0; j < columns.shown(); ++j) {
        cells.push_back({{matrices[m], rows[i], columns[j]}, {m, i, j}});
      }
    }
  }
  return cells;
}

TensorView view_of(std::string name, const Tensor& tensor) {
  return view_of(std::move(name), tensor, nullptr, shows_whole(tensor));
}

std::vector<TensorView> views_of(const Trace& trace, std::optional<std::size_t> head) {
  std::vector<TensorView> views;
  for (const Step& step : trace.steps) {
    for (const Given* given : first_used_by(trace, step)) {
      views.push_back(view_of(given->name, given->tensor));
    }
    const bool whole = shows_whole(step.output) && reads_little(trace, step);
    views.push_back(view_of(step.name, step.output, &step, whole));
  }
  for (TensorView& view : views) {
    view.is_ids = are_ids(trace, view.name);
    if (head) choose_head(view, *head);
  }
  return views;
}

}  // namespace qkv
