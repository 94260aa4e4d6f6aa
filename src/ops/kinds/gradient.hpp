#pragma once

#include "ops/kinds/formula.hpp"

namespace qkv::inline ops {

/// Operands of every gradient operation: the output's gradient and the operand itself.
inline constexpr std::size_t grad_output = 0;
inline constexpr std::size_t self = 1;

/// The operand of a gradient operation that is the k-th tensor its rule saves.
constexpr std::size_t saved(std::size_t k) { return 2 + k; }

/// The same for a rule that saves the output alone, and for one that saves the other operand alone.
inline constexpr std::size_t saved_output = saved(0);
inline constexpr std::size_t saved_other = saved(0);

/// Returns the forward call of a gradient's call, of those of its operands.
Call forward_call(const Call& call, std::initializer_list<std::size_t> operands);

/// Returns the mistake of a gradient that was not divided as its scores were.
constexpr Mistake gradient_unscaled(const Change& change) {
  return {"backward.scale-skipped", "The gradient was not divided as the scores were.",
          "The scores were divided on the way there; so is their gradient.", change};
}

/// Returns the operand's gradient with uninitialised cells; a vector's is a row.
Tensor empty_gradient(const Call& call);

/// Returns a cell's index among the operand's numbers, of any shape: for sinks, the head.
inline std::size_t flat_index(const CellBase& cell) {
  const Tensor& made = *cell.output;
  return (cell.matrix * made.rows() + cell.row) * made.columns() + cell.column;
}

/// Returns the axes of the gradient before it is summed to the operand's shape, without values.
Tensor broadcast_axes(const Call& call, const Form& form);

/// Returns the gradient before it is summed to the operand's shape: uninitialised, with the leading
/// axes of the output's gradient. Throws InputError if the shapes do not fit.
Tensor broadcast_frame(const Call& call, const Form& form);

/// The cells of the whole gradient that are summed into one operand cell, because the operand was
/// broadcast over heads, a batch, rows or columns.
class BroadcastCells : NotCopied {
 public:
  BroadcastCells(const CellBase& cell, const Form& form);
  std::size_t size() const { return places_.size(); }

  template <class N>
  Cell<N> at(const Cell<N>& cell, std::size_t place) const {
    Cell<N> one = cell;
    static_cast<CellBase&>(one) = places_[place];
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

/// The maths of a gradient operation, from that of the whole gradient: the template `cell`, and a
/// `compute` or a `fill_row` if it has one.
template <class Maths>
struct Gradient : Maths {
  template <class N>
  static N cell(const Cell<N>& c) {
    const BroadcastCells repeats(c, Maths::form(*c.call));
    return sum<N>(repeats.size(),
                  [&](std::size_t place) -> N { return Maths::cell(repeats.at(c, place)); });
  }

  static Tensor whole(const Call& call) {
    Tensor frame = broadcast_frame(call, Maths::form(call));
    if constexpr (requires { Maths::compute; }) {
      return Maths::compute(call, std::move(frame));
    } else if constexpr (requires { Maths::fill_row; }) {
      return by_rows(call, std::move(frame), operations_of<Maths>(), Maths::fill_row);
    } else {
      return cell_by_cell(call, std::move(frame), evaluated<Maths, double>);
    }
  }

  static Tensor compute(const Call& call) { return unbroadcast(call, whole(call)); }

  template <Versions (*only_one)(const Call& call, const Tensor& whole)>
  static Versions not_summed(const StepView& step) {
    const Call call = call_of(step);
    return only_one(call, whole(call));
  }
};

/// Mistakes of gradients that are summed over heads or rows.
template <class Maths>
inline constexpr Mistake heads_not_summed{
    "backward.heads-not-summed", "One head's gradient stands for all that share the operand.",
    "Each head that used it sends a gradient back: add them up.",
    Gradient<Maths>::template not_summed<only_one_head>};
template <class Maths>
inline constexpr Mistake rows_not_summed{
    "backward.rows-not-summed", "One row's gradient stands for all rows.",
    "It was used in every row: add up what each of them sends back.",
    Gradient<Maths>::template not_summed<only_one_row>};

struct GradientWords {
  std::string_view title;
  std::string_view says;
  std::string_view notice;
};

/// A base of gradients whose cells are the operand's own: they leave no parts to be summed.
struct OwnCells {};

/// `Maths` with words of its own.
template <class Maths, const GradientWords& its_words>
struct WithWords : Maths {
  static constexpr GradientWords words = its_words;
};

/// `Maths` with a table of mistakes.
template <class Maths, const auto& table>
struct WithMistakes : Maths {
  static constexpr std::span<const Mistake> mistakes = table;
};

/// `Maths` of an operand that may be one row or one head for many, with the mistakes of its sums.
template <class Maths>
struct Repeated : Maths {
  static constexpr Mistake mistakes[] = {heads_not_summed<Maths>, rows_not_summed<Maths>};
};

/// Returns the gradient operation of `Maths`, which has `words` and may have `mistakes`. The
/// evaluator has checked that the output's gradient has the output's shape.
template <class Maths>
constexpr Operation gradient_of() {
  constexpr bool has_own_cells = std::is_base_of_v<OwnCells, Maths>;
  using Summed = std::conditional_t<has_own_cells, Maths, Gradient<Maths>>;
  Operation words{.name = backward_name,
                  .title = Maths::words.title,
                  .says = Maths::words.says,
                  .notice = Maths::words.notice,
                  .min_operands = 2,
                  .max_operands = 1026};  // of one of 1024 matrices that were joined
  words.sums_cells = !has_own_cells;
  if constexpr (requires { Maths::mistakes; }) words.mistakes = Maths::mistakes;
  words.formula = [](const Call& call) {
    return cell_by_cell(call, empty_gradient(call), evaluated<Summed, double>);
  };
  return operation_of<Summed>(words);
}

template <class Maths>
inline constinit const Operation gradient_operation = gradient_of<Maths>();

/// Returns the backward rule for an operand whose gradient is that of `Maths`. It saves what
/// `Maths::needs` lists.
template <class Maths>
BackwardRule rule_of(const OperandRef& use) {
  BackwardRule rule{&gradient_operation<Maths>};
  if constexpr (requires { Maths::needs; }) {
    for (const Role need : Maths::needs) {
      rule.saved.push_back(need == Role::other ? Role{1 - use.operand} : need);
    }
  }
  return rule;
}

/// No gradient flows to this operand.
struct NoGradient {};
template <>
inline BackwardRule rule_of<NoGradient>(const OperandRef&) {
  return {};
}

/// Returns the rule of an operation by its operand. The last of `Maths` serves all that follow.
/// Example: `backward_by<GradSubtrahend, NoGradient>`
template <class... Maths>
BackwardRule backward_by(const OperandRef& use) {
  constexpr BackwardRule (*rules[])(const OperandRef&) = {rule_of<Maths>...};
  return rules[std::min(use.operand, sizeof...(Maths) - 1)](use);
}

}  // namespace qkv::inline ops
