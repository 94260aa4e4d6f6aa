#include "ops/attention/softmax.hpp"
#include "ops/heads/head_axis.hpp"
#include "ops/kinds/cellwise.hpp"
#include "tensor/matmul.hpp"

namespace qkv::inline ops {
namespace {

// The range of a · (d − d · a − rest), where the others of the line add `rest`. It is linear in the
// rest and in d and quadratic in a: extremes are at corners, or at the parabola's vertex.
Interval share_of_change(Interval a, Interval d, Interval rest) {
  Interval found{infinity, -infinity};
  const auto meet = [&](double share, double change, double others) {
    found = hull(found, share * (change * (1 - share) - others));
  };
  for (const double change : {d.low, d.high}) {
    for (const double others : {rest.low, rest.high}) {
      meet(a.low, change, others);
      meet(a.high, change, others);
      const double top = change == 0 ? a.low : (change - others) / (2 * change);
      meet(std::clamp(top, a.low, a.high), change, others);
    }
  }
  return found;
}

// A = softmax(S): dS = A ∘ (dA − row sums of A ∘ dA).
struct SoftmaxBackward {
  static constexpr GradientWords words{
      "Back through softmax",
      "A larger score makes its own attention weight larger and all others of its row smaller, "
      "since they sum to 1. So the row's weighted mean of the gradients is subtracted from each of "
      "them. The rest is multiplied by the attention weight.",
      "Each row sums to 0 (unless a sink takes part): what one score gains, the others lose."};
  static constexpr Role needs[] = {Role::output};

  static Form form(const Call& call) {
    return along_lines(call, {{"row column"}, "row column", "{2} ∘ ({0} − row sums of {2} ∘ {0})"});
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> change = line_of(c, grad_output);
    const Line<N> weights = line_of(c, saved_output);
    const std::size_t i = index_in_line(c);
    if constexpr (std::is_same_v<N, Interval>) {
      Interval rest = 0.0;
      for (std::size_t j = 0; j < weights.size(); ++j) {
        if (j != i) rest = rest + weights(j) * change(j);
      }
      return share_of_change(weights(i), change(i), rest);
    }
    return weights(i) * (change(i) - sum<N>(weights.size(),
                                            [&](std::size_t j) { return weights(j) * change(j); }));
  }

  static Tensor compute(const Call& call, Tensor whole) {
    if (is_columnwise(call)) {
      return by_operands(call, std::move(whole), [](const Operands& of) -> Matrix {
        return worked(of(grad_output), of(saved_output), Along::columns);
      });
    }
    constexpr std::size_t operations = 4;
    return by_rows(call, std::move(whole), operations,
                   [](const Operands& of, std::span<double> cells) {
                     thread_local Scratch scratch;
                     row_gradient(of.row(grad_output, scratch), of.row(saved_output), cells);
                   });
  }

  // An infinite gradient makes nan with a weight of 0, and only stored values are searched for nan.
  static std::optional<InPlaceKernel> in_place(const Call& call) {
    const Tensor& weights = *call.inputs[saved_output];
    const Tensor& own = *call.inputs[self];
    const Tensor& change = *call.inputs[grad_output];
    if (is_columnwise(call) || own.shape() != weights.shape() ||
        change.shape() != weights.shape() || !change.values.are_stored() ||
        !all_finite(change.values)) {
      return {};
    }
    const auto work = [weights](const RowPart& row) {
      thread_local Scratch scratch;
      const std::size_t first = weights.index(row.matrix, row.row, 0);
      row_gradient(row.cells, weights.values.read(first, weights.columns(), scratch), row.cells);
    };
    return InPlaceKernel{{.axes = own.axes, .values = {}}, work};
  }

  static void row_gradient(std::span<const double> change, std::span<const double> weights,
                           std::span<double> cells) {
    const double all = std::inner_product(weights.begin(), weights.end(), change.begin(), 0.0);
    for (std::size_t j = 0; j < cells.size(); ++j) cells[j] = weights[j] * (change[j] - all);
  }

  static Matrix worked(const Matrix& change, const Matrix& weights, Along along) {
    return weights * (change - sums(weights * change, along));
  }
};

// The gradient by a formula of both matrices, along the step's own axis.
template <Matrix (*formula)(const Operands& of)>
Versions softmax_gradient_by(const StepView& step) {
  const Call call = call_of(step);
  const Form form = SoftmaxBackward::form(call);
  return {unbroadcast(call, by_operands(call, broadcast_frame(call, form), formula))};
}

constexpr Mistake softmax_backward_mistakes[] = {
    {"softmax-backward.elementwise",
     "Each weight was taken by itself: A(1 − A) · dA, as of a sigmoid.",
     "A score moves every weight of its row: subtract the row's sum of A · dA.",
     softmax_gradient_by<[](const Operands& of) -> Matrix {
       return of(saved_output) * (1 - of(saved_output)) * of(grad_output);
     }>},
    {"softmax-backward.no-sum", "The row's sum was not subtracted: A · dA alone.",
     "From each dA the row's sum of A · dA is subtracted first.",
     softmax_gradient_by<[](const Operands& of) -> Matrix {
       return of(saved_output) * of(grad_output);
     }>},
    {"softmax-backward.columns", "The sums were taken along the wrong axis.",
     "The attention weights of one query sum to 1: its row is what belongs together.",
     softmax_gradient_by<[](const Operands& of) {
       const Along other = along_of(of) == Along::rows ? Along::columns : Along::rows;
       return SoftmaxBackward::worked(of(grad_output), of(saved_output), other);
     }>},
};

template <class N>
N by_given_sum(const N& number, const N& total) {
  if constexpr (!std::is_same_v<N, Interval>) {
    if (as_double(total) == 0) return 0.0;  // a line of zeros has no shares
  }
  return number / total;
}

// Y = A / sums of A: dA = (dY − row sums of Y ∘ dY) / sums of A.
struct GradNormalised {
  static constexpr GradientWords words{
      "Back through the division by the sum",
      "A larger number makes its own quotient larger and all others of its row smaller. So the "
      "row's mean of the gradients, weighted by the quotients, is subtracted from each of them. "
      "The rest is divided by the row's sum.",
      "One factor for all numbers of a row would change no quotient."};
  static constexpr Role needs[] = {Role::output};

  static Form form(const Call& call) {
    return along_lines(
        call, {{"row column"}, "row column", "({0} − row sums of {2} ∘ {0}) / row sums of {1}"});
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> change = line_of(c, grad_output);
    const Line<N> numbers = line_of(c, self);
    const Line<N> shares = line_of(c, saved_output);
    const N total = sum<N>(numbers.size(), numbers);
    const N mean = sum<N>(shares.size(), [&](std::size_t j) { return shares(j) * change(j); });
    return by_given_sum(change(index_in_line(c)) - mean, total);
  }
};

// A sink's gradient: minus the sum over its head's lines of the sink's weight · Σ_j w_j · dw_j.
struct GradSinks
    : OwnCells,
      FixedForm<"−the sum over rows of (1 − row sums of {2}) · row sums of {2} ∘ {0}, by head",
                "1 inner", "query key", "1 inner", "query key"> {
  static constexpr GradientWords words{
      "Back to the sinks",
      "A larger sink lowers all attention weights of its head. So the gradients of each row are "
      "multiplied by their attention weights and added up. The sum is multiplied by the weight of "
      "the sink, with the other sign. Then the rows are added up.",
      "One number for each head."};
  static constexpr Role needs[] = {Role::output};

  static std::string code_of(const Call& call) {
    const Tensor& weights = *call.inputs[saved_output];
    return fmt::format(
        "-((1 - {{2}}.sum({{keep}})) * ({{2}} * {{0}}).sum({{keep}})).reshape(-1, {}, {})"
        ".sum((0, 2)).reshape(1, -1)",
        head_count(weights), is_columnwise(call) ? weights.columns() : weights.rows());
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Tensor& weights = c.input(saved_output);
    const bool down = is_columnwise(*c.call);
    const std::size_t lines = down ? weights.columns() : weights.rows();
    const std::size_t heads = head_count(weights);
    const std::size_t batches = weights.matrices() / heads;
    const std::size_t head = flat_index(c);
    return N(0.0) - sum<N>(batches * lines, [&](std::size_t t) {
             const std::size_t m = t / lines * heads + head;
             const Line<N> line{c.of(saved_output, m), t % lines, down};
             const Line<N> change{c.of(grad_output, m), t % lines, down};
             const N kept = sum<N>(line.size(), line);
             const N all = sum<N>(line.size(), [&](std::size_t j) { return line(j) * change(j); });
             return (N(1.0) - kept) * all;
           });
  }
};

// Y = A / given sums: dA = dY / sums, and d sums is minus the row sums of Y ∘ dY / sums.
struct GradShared : CellwiseGradient<"{0} / {2}",
                                     [](const auto& change, const auto& total) {
                                       return by_given_sum(change, total);
                                     },
                                     Role::other> {
  static constexpr GradientWords words{
      "Back to the dividend",
      "The number was divided, so its gradient is divided by the same number.",
      "The sums are those of the forward pass."};
};

struct GradSums {
  static constexpr GradientWords words{
      "Back to the sums",
      "A larger sum makes every quotient of its row smaller. So the gradients times the quotients "
      "are added up and divided by the sum, with the other sign.",
      "One number for each row."};
  static constexpr Role needs[] = {Role::output};

  static Form form(const Call& call) {
    return along_lines(call, {{"row column", axes_that_repeat(call, self), "row column"},
                              "row column",
                              "−row sums of {0} ∘ {2} / {1}"});
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const N total = repeated(c(self), c);
    if constexpr (!std::is_same_v<N, Interval>) {
      if (as_double(total) == 0) return 0.0;
    }
    return N(0.0) - c(grad_output)(c.row, c.column) * c(saved_output)(c.row, c.column) / total;
  }
};

}  // namespace

BackwardRule softmax_backward(const OperandRef& use) {
  return backward_by<WithMistakes<SoftmaxBackward, softmax_backward_mistakes>, GradSinks>(use);
}

BackwardRule normalise_backward(const OperandRef& use) {
  if (use.operands == 1) return rule_of<GradNormalised>(use);
  return backward_by<GradShared, GradSums>(use);
}

}  // namespace qkv::inline ops
