#pragma once

#include "ops/backward_rule.hpp"
#include "ops/cell.hpp"
#include "ops/result.hpp"

namespace qkv::inline ops {

/// Operands of every gradient operation: the output's gradient, the operand itself, saved tensors.
inline constexpr std::size_t grad_output = 0;
inline constexpr std::size_t self = 1;
inline constexpr std::size_t first_saved = 2;

/// Returns the operand's gradient with uninitialised cells; a vector's is a row.
Tensor empty_gradient(const Call& call);

/// Returns a cell's index among the operand's numbers, of any shape: for sinks, the head.
inline std::size_t flat_index(const CellBase& cell) {
  const Tensor& made = *cell.output;
  return (cell.matrix * made.rows() + cell.row) * made.columns() + cell.column;
}

/// Returns the gradient before it is summed to the operand's shape: uninitialised, with the leading
/// axes of the output's gradient. Throws InputError if the shapes do not fit.
Tensor broadcast_frame(const Call& call, const Form& form);

/// The cells of the whole gradient that are summed into one operand cell, because the operand was
/// broadcast over heads, a batch, rows or columns.
class BroadcastCells {
 public:
  BroadcastCells(const CellBase& cell, const Form& form);
  std::size_t size() const { return places_.size(); }

  template <class N>
  Cell<N> at(const Cell<N>& cell, std::size_t place) const {
    Cell<N> one = cell;
    one.output = &whole_;
    one.matrix = places_[place].matrix;
    one.row = places_[place].row;
    one.column = places_[place].column;
    return one;
  }

 private:
  Tensor whole_;
  std::vector<CellBase> places_;
};

/// Returns the whole gradient summed to the operand's axes.
Tensor unbroadcast(const Call& call, Tensor whole);

/// Return one head's part, or one row's, of a gradient that sums several; empty if it sums none.
Versions only_one_head(const Call& call, const Tensor& whole);
Versions only_one_row(const Call& call, const Tensor& whole);

/// The maths of a gradient operation, from that of the whole gradient: `form`, the template `cell`,
/// and a `compute` if it has one.
template <class Maths>
struct Gradient {
  static Form form(const Call& call) { return Maths::form(call); }

  template <class N>
  static N cell(const Cell<N>& c) {
    const BroadcastCells repeats(c, form(*c.call));
    return sum<N>(repeats.size(),
                  [&](std::size_t place) { return Maths::cell(repeats.at(c, place)); });
  }

  static Tensor whole(const Call& call) {
    if constexpr (requires { Maths::compute; }) {
      return Maths::compute(call, broadcast_frame(call, form(call)));
    } else {
      return cell_by_cell(call, broadcast_frame(call, form(call)), Maths::template cell<double>);
    }
  }

  static Tensor compute(const Call& call) { return unbroadcast(call, whole(call)); }

  static Versions heads_not_summed(const StepView& step) {
    const Call call = call_of(step);
    return only_one_head(call, whole(call));
  }

  static Versions rows_not_summed(const StepView& step) {
    const Call call = call_of(step);
    return only_one_row(call, whole(call));
  }
};

/// Mistakes of gradients that are summed over heads or rows.
template <class Maths>
inline constexpr Mistake heads_not_summed{
    "backward.heads-not-summed", "One head's gradient stands for all that share the operand.",
    "Each head that used it sends a gradient back: add them up.",
    Gradient<Maths>::heads_not_summed};
template <class Maths>
inline constexpr Mistake rows_not_summed{
    "backward.rows-not-summed", "One row's gradient stands for all rows.",
    "It was used in every row: add up what each of them sends back.",
    Gradient<Maths>::rows_not_summed};

/// Returns the gradient operation with the data of `words` and the maths of `Maths`. The
/// evaluator has checked that the output's gradient has the output's shape.
template <class Maths>
constexpr Operation gradient_of(Operation words) {
  words.name = backward_name;
  words.min_operands = 2;
  words.max_operands = 1026;  // of one of 1024 matrices that were joined
  words.formula = [](const Call& call) {
    return cell_by_cell(call, empty_gradient(call), Maths::template cell<double>);
  };
  return operation_of<Maths>(words);
}

}  // namespace qkv::inline ops
