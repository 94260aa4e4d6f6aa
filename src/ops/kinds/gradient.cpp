#include "ops/kinds/gradient.hpp"

#include "ops/kinds/formula.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

bool repeats_along(std::size_t own, std::size_t whole) { return own == 1 && whole != 1; }

// Calls `use` with each cell of the whole gradient and its place in the operand's.
template <class Use>
void each_place(const Call& call, const Tensor& whole, const Tensor& own, const Use& use) {
  CellBase at{.call = &call, .output = &whole};
  const bool one_row = repeats_along(own.rows(), whole.rows());
  const bool one_column = repeats_along(own.columns(), whole.columns());
  std::size_t from = 0;
  for (; at.matrix < whole.matrices(); ++at.matrix) {
    const std::size_t matrix = at.matching(own_operand);
    for (at.row = 0; at.row < whole.rows(); ++at.row) {
      const std::size_t row = matrix * own.rows() + (one_row ? 0 : at.row);
      for (at.column = 0; at.column < whole.columns(); ++at.column) {
        use(from++, row * own.columns() + (one_column ? 0 : at.column));
      }
    }
  }
}

// The operand's gradient with `taken`-th of the cells that should be added up for each cell.
Tensor only(const Call& call, const Tensor& whole, std::size_t taken) {
  Tensor result = gradient_frame(call);
  const std::span<double> cells = result.values.write();
  std::vector<std::size_t> met(cells.size());
  const std::span<const double> all(whole.values);
  each_place(call, whole, result, [&](std::size_t from, std::size_t to) {
    if (met[to]++ == taken) cells[to] = all[from];
  });
  return result;
}

// Each operand's leading axes are the gradient's, or repeat along them; fewer heads are shared.
void require_leading_axes(const Call& call) {
  const Tensor& gradient = *call.inputs[arriving];
  for (std::size_t k = own_operand; k < call.inputs.size(); ++k) {
    const Tensor& operand = *call.inputs[k];
    bool fits = operand.leading_axes() <= gradient.leading_axes();
    for (std::size_t a = 0; fits && a < operand.leading_axes(); ++a) {
      const std::size_t size = operand.axes[a].size;
      const std::size_t all =
          gradient.axes[a + gradient.leading_axes() - operand.leading_axes()].size;
      fits = size == all || (size > 0 && all % size == 0);
    }
    if (fits) continue;
    refuse(call,
           operand_text(call, k) + " has not the leading axes of " + operand_text(call, arriving));
  }
}

// The whole gradient's axes alone: a cell needs no more of it.
Tensor axes_of_whole(const Call& call, const Form& form) {
  const Bindings bound = bind(call, form);
  const Tensor& gradient = *call.inputs[arriving];
  require_leading_axes(call);
  std::vector<Axis> axes(gradient.axes.begin(),
                         gradient.axes.begin() + static_cast<long>(gradient.leading_axes()));
  const auto [rows, columns] = axis_names(form.output);
  for (const std::string_view axis : {rows, columns}) {
    axes.push_back(axis == "1" ? Axis{.name = "", .size = 1} : bound.find(axis)->second);
  }
  return {.axes = std::move(axes), .values = {}};
}

}  // namespace

WayBack no_way_back(const Use&) { return {}; }

Tensor gradient_frame(const Call& call) {
  return unwritten(as_matrix({.axes = call.inputs[own_operand]->axes, .values = {}}).axes);
}

void require_arriving(const Call& call, const Shape& due) {
  if (as_matrix({.axes = call.inputs[arriving]->axes, .values = {}}).shape() == due) return;
  refuse(call, operand_text(call, arriving) + " must be " + shape_text(due));
}

Tensor whole_frame(const Call& call, const Form& form) {
  return unwritten(axes_of_whole(call, form).axes);
}

Repeats::Repeats(const CellBase& cell, const Form& form) : whole_(axes_of_whole(*cell.call, form)) {
  const Tensor& own = *cell.output;
  CellBase at{.call = cell.call, .output = &whole_};
  const bool one_row = repeats_along(own.rows(), whole_.rows());
  const bool one_column = repeats_along(own.columns(), whole_.columns());
  for (; at.matrix < whole_.matrices(); ++at.matrix) {
    if (at.matching(own_operand) != cell.matrix) continue;
    for (std::size_t row = 0; row < (one_row ? whole_.rows() : 1); ++row) {
      for (std::size_t column = 0; column < (one_column ? whole_.columns() : 1); ++column) {
        at.row = one_row ? row : cell.row;
        at.column = one_column ? column : cell.column;
        places_.push_back(at);
      }
    }
  }
}

Tensor added_up(const Call& call, Tensor whole) {
  Tensor result = gradient_frame(call);
  if (whole.values.size() == result.values.size()) {
    result.values = std::move(whole.values);
    return result;
  }
  const std::span<double> cells = result.values.write();
  std::ranges::fill(cells, 0.0);
  const std::span<const double> all(whole.values);
  each_place(call, whole, result,
             [&](std::size_t from, std::size_t to) { cells[to] += all[from]; });
  return result;
}

std::vector<Tensor> only_one_head(const Call& call, const Tensor& whole) {
  const std::size_t own = call.inputs[own_operand]->matrices();
  const std::size_t times = own == 0 ? 0 : whole.matrices() / own;
  std::vector<Tensor> results;
  constexpr std::size_t most = 16;  // heads that are told apart
  if (times < 2 || times > most || call.inputs[own_operand]->rows() != whole.rows()) return {};
  for (std::size_t t = 0; t < times; ++t) results.push_back(only(call, whole, t));
  return results;
}

std::vector<Tensor> only_one_row(const Call& call, const Tensor& whole) {
  const Tensor& own = *call.inputs[own_operand];
  if (!repeats_along(own.rows(), whole.rows()) || whole.rows() == 0) return {};
  std::vector<Tensor> results;
  for (const std::size_t row : {std::size_t{0}, whole.rows() - 1}) {
    results.push_back(
        only(call, whole, row * (own.columns() == whole.columns() ? 1 : whole.columns())));
  }
  return results;
}

}  // namespace qkv
