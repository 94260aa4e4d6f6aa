#include "ops/kinds/gradient.hpp"

namespace qkv::inline ops {
namespace {

struct GradSeed : FixedForm<"∂{0}/∂{0}"> {
  static constexpr std::string_view code = "{np}.ones_like({0})";

  static double cell(const auto&) { return 1; }

  static Tensor compute(const Call& call) {
    Tensor one = uninitialised(as_matrix({.axes = call.inputs[0]->axes, .values = {}}).axes);
    if (one.values.size() != 1) {
      refuse(call, operand_text(call, 0) +
                       " is not a single number; write from = { output = \"d_output\" } with the "
                       "gradient that arrives there as a [[given]]");
    }
    one.values.mutable_span()[0] = 1;
    return one;
  }
};

struct AccumulateGrad {
  static Form form(const Call& call) {
    std::string formula = "{0}";
    for (std::size_t k = 1; k < call.inputs.size(); ++k)
      formula += " + {" + std::to_string(k) + "}";
    return {{"row column"}, "row column", std::move(formula)};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return sum<N>(c.call->inputs.size(), [&](std::size_t k) { return c(k)(c.row, c.column); });
  }

  static Tensor compute(const Call& call) {
    Tensor total = zeros(call.inputs[0]->axes);
    const std::span<double> cells = total.values.mutable_span();
    for (const Tensor* part : call.inputs)
      std::ranges::transform(cells, part->values, cells.begin(), std::plus());
    return total;
  }
};

// The sum without one of the uses: without a residual, or without any other use.
template <bool residuals>
Versions without_one(const StepView& step) {
  Versions results;
  for (std::size_t k = 0; k < step.inputs.size(); ++k) {
    const Operation* operation = step.inputs[k]->operation;
    const bool is_of_residual = operation && operation == add_operation.backward({}).operation;
    if (is_of_residual != residuals) continue;
    for (Tensor& sum : versions_of(SkipOperand{k}, step)) results.push_back(std::move(sum));
  }
  return results;
}

Versions one_path(const StepView& step) {
  Versions results = without_one<false>(step);
  if (step.inputs.size() < 3) return results;
  for (const StepView* only : step.inputs) results.push_back(*only->tensor);
  return results;
}

constexpr Mistake accumulate_grad_mistakes[] = {
    {"backward.residual-skipped", "The gradient through the residual was left out.",
     "The residual goes past the block: its gradient is added.", without_one<true>},
    {"backward.one-path", "One of several uses was left out.",
     "It was used more than once: every use sends a gradient back.", one_path},
};

bool repeats_along(std::size_t own, std::size_t whole) { return own == 1 && whole != 1; }

// Calls `visit` with each cell of the whole gradient and its place in the operand's.
template <class Visit>
void each_place(const Call& call, const Tensor& whole, const Tensor& own, const Visit& visit) {
  CellBase at{.call = &call, .output = &whole};
  const bool one_row = repeats_along(own.rows(), whole.rows());
  const bool one_column = repeats_along(own.columns(), whole.columns());
  std::size_t from = 0;
  for (; at.matrix < whole.matrices(); ++at.matrix) {
    const std::size_t matrix = at.matrix_index(self);
    for (at.row = 0; at.row < whole.rows(); ++at.row) {
      const std::size_t row = matrix * own.rows() + (one_row ? 0 : at.row);
      for (at.column = 0; at.column < whole.columns(); ++at.column) {
        visit(from++, row * own.columns() + (one_column ? 0 : at.column));
      }
    }
  }
}

// The operand's gradient from the `taken`-th of the cells that are to be summed for each cell.
Tensor only(const Call& call, const Tensor& whole, std::size_t taken) {
  Tensor result = empty_gradient(call);
  const std::span<double> cells = result.values.mutable_span();
  std::vector<std::size_t> met(cells.size());
  const std::span<const double> all(whole.values);
  each_place(call, whole, result, [&](std::size_t from, std::size_t to) {
    if (met[to]++ == taken) cells[to] = all[from];
  });
  return result;
}

}  // namespace

constinit const Operation grad_seed_operation = operation_of<GradSeed>({
    .name = backward_name,
    .title = "Start the backward pass",
    .says = "The gradient of the loss with respect to itself is 1.",
    .notice = "Each gradient that follows is worked out from those before it.",
});

constinit const Operation accumulate_grad_operation = operation_of<AccumulateGrad>({
    .name = backward_name,
    .title = "Add up the gradients of all uses",
    .says =
        "A matrix that is used more than once gets a gradient from each use. They are added up.",
    .notice = "Which use has the largest gradient?",
    .max_operands = 1024,
    .mistakes = accumulate_grad_mistakes,
});

Tensor broadcast_axes(const Call& call, const Form& form) {
  std::vector<Axis> leading = call.inputs[grad_output]->axes;
  leading.resize(call.inputs[grad_output]->leading_axes());
  return frame_of(call, form, std::move(leading));
}

Call forward_call(const Call& call, std::initializer_list<std::size_t> operands) {
  Call forward = call;
  forward.inputs.clear();
  forward.names.clear();
  for (const std::size_t k : operands) {
    forward.inputs.push_back(call.inputs[k]);
    forward.names.push_back(call.names[k]);
  }
  return forward;
}

Tensor empty_gradient(const Call& call) {
  return uninitialised(as_matrix({.axes = call.inputs[self]->axes, .values = {}}).axes);
}

Tensor broadcast_frame(const Call& call, const Form& form) {
  return uninitialised(broadcast_axes(call, form).axes);
}

BroadcastCells::BroadcastCells(const CellBase& cell, const Form& form)
    : whole_(broadcast_axes(*cell.call, form)) {
  const Tensor& own = *cell.output;
  CellBase at{.call = cell.call, .output = &whole_};
  const bool one_row = repeats_along(own.rows(), whole_.rows());
  const bool one_column = repeats_along(own.columns(), whole_.columns());
  for (; at.matrix < whole_.matrices(); ++at.matrix) {
    if (at.matrix_index(self) != cell.matrix) continue;
    for (std::size_t row = 0; row < (one_row ? whole_.rows() : 1); ++row) {
      for (std::size_t column = 0; column < (one_column ? whole_.columns() : 1); ++column) {
        at.row = one_row ? row : cell.row;
        at.column = one_column ? column : cell.column;
        places_.push_back(at);
      }
    }
  }
}

Tensor unbroadcast(const Call& call, Tensor whole) {
  Tensor result = empty_gradient(call);
  if (whole.values.size() == result.values.size()) {
    result.values = std::move(whole.values);
    return result;
  }
  const std::span<double> cells = result.values.mutable_span();
  std::ranges::fill(cells, 0.0);
  const std::span<const double> all(whole.values);
  each_place(call, whole, result,
             [&](std::size_t from, std::size_t to) { cells[to] += all[from]; });
  return result;
}

Versions only_one_head(const Call& call, const Tensor& whole) {
  const std::size_t own = call.inputs[self]->matrices();
  const std::size_t times = own == 0 ? 0 : whole.matrices() / own;
  constexpr std::size_t most = 16;  // heads that are compared
  if (times < 2 || times > most || call.inputs[self]->rows() != whole.rows()) return {};
  return mapped_places(times, [&](std::size_t t) { return only(call, whole, t); });
}

Versions only_one_row(const Call& call, const Tensor& whole) {
  const Tensor& own = *call.inputs[self];
  if (!repeats_along(own.rows(), whole.rows()) || whole.rows() == 0) return {};
  constexpr std::size_t most = 64;  // of more rows the first and the last are tried
  const std::size_t tried = whole.rows() > most ? 2 : whole.rows();
  const std::size_t width = own.columns() == whole.columns() ? 1 : whole.columns();
  return mapped_places(tried, [&](std::size_t row) -> Versions::value_type {
    return only(call, whole, (row > 0 && tried == 2 ? whole.rows() - 1 : row) * width);
  });
}

}  // namespace qkv::inline ops
