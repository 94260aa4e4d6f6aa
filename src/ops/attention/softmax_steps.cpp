#include "ops/attention/softmax.hpp"
#include "ops/heads/head_axis.hpp"
#include "ops/kinds/cellwise.hpp"

namespace qkv::inline ops {
namespace {

// x minus the largest of its line; 0 for equal infinities, and hidden cells stay hidden.
double below(double x, double top) {
  if (x == -infinity) return x;
  return x == top ? 0 : x - top;
}

struct Shift {
  static constexpr std::string_view code = "{0} - {0}.{amax}({keep})";

  static Form form(const Call& call) { return form_of_lines(call, "{0} − the largest of ", ""); }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> line = line_of(c);
    const std::size_t i = index_in_line(c);
    if constexpr (std::is_same_v<N, double>) {
      return below(line(i), largest(line));
    } else if constexpr (std::is_same_v<N, Decimal>) {
      if (line(i).value() == -infinity) return line(i);
      // The only visible number is the largest, however it was rounded.
      if (is_alone(c, -infinity)) return 0.0;
      return line(i).is_exact() ? line(i) - largest(line) : line(i);
    } else {
      const Expression top = largest(line);
      const Expression difference = line(i) - top;
      // inf − inf has no value: `below` gives the one that the row takes instead.
      return std::isnan(difference.value()) ? Expression(below(line(i).value(), top.value()))
                                            : difference;
    }
  }

  // Rises with its own number (up to 0) and falls with every other: the range ends at two corners.
  static auto cells_of_line(const Cell<Interval>& c) {
    return [tops = largest_of_others(line_of(c))](const Cell<Interval>& at) -> Interval {
      const Interval own = at(0)(at.row, at.column);
      const Interval others = tops[index_in_line(at)];
      return {below(own.low, std::max(own.low, others.high)),
              below(own.high, std::max(own.high, others.low))};
    };
  }

  static std::optional<InPlaceKernel> in_place(const Call& call) {
    if (is_columnwise(call)) return {};
    const auto work = [](const RowPart& row) {
      const std::span<double> cells = row.cells;
      if (cells.empty()) return;
      const double top = *std::max_element(cells.begin(), cells.end());
      for (double& cell : cells) cell = below(cell, top);
    };
    return InPlaceKernel{frame_of(call, form(call)), work};
  }

  static Matrix matrix(const Operands& of) {
    return xt::vectorize(below)(of(0), maxima(of(0), along_of(of)));
  }
};

constexpr Mistake shift_mistakes[] = {
    {"softmax.columns", "The largest number was taken along the wrong axis.",
     "Softmax takes all keys of one query.", With{"axis"}},
    {"softmax.whole", "The largest number of the whole matrix was subtracted.",
     "Every query has a largest number of its own.",
     [](const Operands& of) -> Matrix {
       return xt::vectorize(below)(of(0), maxima(maxima(of(0)), Along::columns));
     }},
    unscaled("Scaling comes before softmax."),
    unmasked("What is hidden stays -inf."),
};

// The largest of a line gets minus the sum of the line's gradients, shared if several are largest.
struct GradShifted {
  static constexpr GradientWords words{
      "Back through the subtraction of the largest",
      "The largest number was subtracted from its whole row, itself included. So the sum of the "
      "row's gradients is subtracted from its gradient.",
      "If a softmax followed, the row's gradients sum to 0, and nothing changes here."};

  static constexpr std::string_view code =
      "m = {1} == {1}.{amax}({keep}); {=}{0} - {0}.sum({keep}) * m / m.sum({keep})";

  static Form form(const Call& call) {
    return along_lines(call,
                       {{"row column"}, "row column", "{0} − its row sum, where {1} is largest"});
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> change = line_of(c, grad_output);
    const Line<N> own = line_of(c, self);
    const std::size_t i = index_in_line(c);
    const N all = sum<N>(change.size(), change);
    if constexpr (std::is_same_v<N, Interval>) {
      return change(i) - line_max_backward(all, own, i);
    } else {
      const Line<double> numbers = line_of(Cell<double>{c}, self);  // NOLINT: the place alone
      const double top = largest(numbers);
      if (numbers(i) != top) return change(i);
      double as_large = 0;
      for (std::size_t j = 0; j < numbers.size(); ++j) as_large += numbers(j) == top ? 1 : 0;
      return as_large == 1 ? change(i) - all : change(i) - all / N(as_large);
    }
  }
};

struct Exp : FixedForm<"e^{0}"> {
  static auto cell(const auto& c) {
    using std::exp;
    return exp(c(0)(c.row, c.column));
  }

  static std::optional<InPlaceKernel> in_place(const Call& call) {
    return cellwise_kernel(frame_of(call, form(call)), [](double x) { return std::exp(x); });
  }
};

Versions powers_without_zero(const StepView& step) {
  if (!has_zeros(step.operand())) return {};
  return {by_matrix(step.operand(), [](const MatrixView& x) -> Matrix {
    return xt::where(xt::equal(x, 0.0), 0.0, xt::exp(x));
  })};
}

constexpr Mistake exp_mistakes[] = {
    {"softmax.base-2", "2 was raised to the numbers instead of e.", "e ≈ 2.718.",
     Operand{0, times_ln_2}},
    {"softmax.base-2", "10 was raised to the numbers instead of e.", "e ≈ 2.718.",
     Operand{0, times_ln_10}},
    {"softmax.negative", "The sign is wrong: e^(−x).", "A larger number gets a larger power.",
     Operand{0, negated}},
    {"softmax.no-exp", "The numbers were left as they were, without e^x.",
     "e to the power of each number.", [](const Operands& of) { return finite(of(0)); }},
    {"softmax.zero-power", "e^0 was taken as 0.", "Any number to the power of 0 is 1.",
     powers_without_zero, zeros_evidence},
    hidden_taken_as_0,
    unscaled("Scaling comes before e^x."),
    unmasked("e to the power of -inf is 0."),
};

// The derivative of e^x is e^x, the step's result.
struct GradExp : CellwiseGradient<"{0} ∘ {2}", std::multiplies<>{}, Role::output> {
  static constexpr GradientWords words{
      "Back through e^x", "The derivative of e^x is e^x, so the gradient is multiplied by e^x.",
      "Where e^x is 0, the gradient is 0."};
};

// True if the sums, those of all tiles, are an operand.
bool has_sums(const Call& call) { return call.inputs.size() == 2; }

struct Normalise {
  static std::string code_of(const Call& call) {
    return has_sums(call) ? "{0} / {1}" : "{0} / {0}.sum({keep})";
  }

  static Form form(const Call& call) {
    if (!has_sums(call)) return form_of_lines(call, "{0} / the sum of ", "");
    return {{"row column", is_columnwise(call) ? "1 column" : "row 1"}, "row column", "{0} / {1}"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return has_sums(*c.call) ? by_sums(c) : by_line(c);
  }

  template <class N>
  static N by_sums(const Cell<N>& c) {
    const N own = c(0)(c.row, c.column);
    const N total = is_columnwise(*c.call) ? c(1)(0, c.column) : c(1)(c.row, 0);
    if constexpr (std::is_same_v<N, double>) {
      return share(own, total);
    } else if constexpr (std::is_same_v<N, Interval>) {
      return own.low == 0 && own.high == 0 ? own : own / total;
    } else if constexpr (std::is_same_v<N, Decimal>) {
      return own.value() == 0 ? own : own / total;
    } else {
      return own.value() == 0 && total.value() == 0 ? own : own / total;
    }
  }

  template <class N>
  static N by_line(const Cell<N>& c) {
    const Line<N> line = line_of(c);
    const std::size_t i = index_in_line(c);
    if constexpr (std::is_same_v<N, Interval>) {
      Interval rest = 0.0;
      for (std::size_t j = 0; j < line.size(); ++j) {
        if (j != i) rest = rest + line(j);
      }
      return corners(line(i), rest);
    } else {
      if constexpr (std::is_same_v<N, Decimal>) {
        if (line(i).value() == 0) return line(i);  // whatever the sum is
        // The whole sum, if not rounded to 0. NOLINTNEXTLINE(cppcoreguidelines-slicing)
        if (is_alone(c, 0) && line_of(Cell<double>{c})(i) >= 0.5) return 1.0;
      }
      const N total = sum<N>(line.size(), line);
      if constexpr (std::is_same_v<N, double>) return share(line(i), total);
      if (as_double(total) == 0 && as_double(line(i)) == 0) return line(i);  // as share() has it
      return line(i) / total;
    }
  }

  static std::optional<Range> range(const Call& call, std::span<const Bounds> operands,
                                    const Tensor& result) {
    if (has_sums(call)) return {};
    return range_by_lines(call, operands, result, [](const Cell<Interval>& c) {
      return [others =
                  of_others(numbers_of(line_of(c)), 0.0, std::plus<>{})](const Cell<Interval>& at) {
        return corners(at(0)(at.row, at.column), others[index_in_line(at)]);
      };
    });
  }

  // x / (x + rest) is monotone in x and in the rest as long as the sum is not 0: four corners.
  static Interval corners(Interval own, Interval rest) {
    if (own.low >= 0 && rest.low >= 0) {  // at most the whole sum
      return {own.low == 0 ? 0 : own.low / (own.low + rest.high),
              own.high == 0 ? 0 : own.high / (own.high + rest.low)};
    }
    const Interval total = own + rest;
    if (total.low == 0 && total.high == 0) return own.low == 0 && own.high == 0 ? own : everything;
    if (total.low <= 0 && total.high >= 0) return everything;
    const auto [low, high] =
        std::minmax({own.low / (own.low + rest.low), own.low / (own.low + rest.high),
                     own.high / (own.high + rest.low), own.high / (own.high + rest.high)});
    return {low, high};
  }

  static Matrix matrix(const Operands& of) {
    if (has_sums(*of.at().call)) return xt::vectorize(share)(of(0), of(1));
    return shares(of(0), along_of(of));
  }
};

// The weights from wrong exponents.
template <Versions (*exponents)(const StepView&)>
Versions shares_of(const StepView& step) {
  const StepView* raised = upstream(step.inputs[0], exp_operation);
  if (!raised) return {};
  Versions versions = exponents(*raised);
  for (Tensor& x : versions) x = with_operand(step, 0, with_operand(*raised, 0, x));
  return versions;
}

Versions shares_without_exp(const StepView& step) {
  const StepView* raised = upstream(step.inputs[0], exp_operation);
  if (!raised) return {};
  return {with_operand(step, 0, by_matrix(raised->operand(), finite))};
}

// Each cell is divided by the sum of that cell in all heads.
Versions shares_over_heads(const StepView& step) {
  return by_heads(step.operand(), head_count(step.operand()),
                  [](const Matrix& x) { return shares(x, Along::columns); });
}

// A causal mask where the lesson has none.
Versions masked(const StepView& step) {
  if (upstream(&step, mask_operation)) return {};
  const Along along = along_of(call_of(step));
  return {by_matrix(step.operand(),
                    [&](const MatrixView& x) { return shares(xt::tril(Matrix(x)), along); })};
}

constexpr Mistake normalise_mistakes[] = {
    {"softmax.columns", "The sums were taken along the wrong axis.",
     "The attention weights of one query sum to 1.", With{"axis"}},
    {"softmax.whole", "Everything was divided by the sum of the whole matrix.",
     "Every query has its own sum to divide by.",
     [](const Operands& of) -> Matrix { return of(0) / total(of(0)); }},
    {"softmax.not-normalised", "Nothing was divided by its sum.",
     "The attention weights of one query sum to 1.",
     Skip{[](const Call& call) { return !has_sums(call); }}},
    {"flash.not-divided", "The output was not divided by the sum of the weights.",
     "After the last tile, divide each row by its sum.", Skip{has_sums}},
    {"softmax.no-exp", "The scores were divided by their plain sum, without e^x.",
     "First e to the power of each score, then divide.", shares_without_exp},
    {"softmax.base-2", "2 was raised to the scores instead of e.", "e ≈ 2.718.",
     shares_of<times_ln_2>},
    {"softmax.base-2", "10 was raised to the scores instead of e.", "e ≈ 2.718.",
     shares_of<times_ln_10>},
    {"softmax.heads", "The sums were taken over the heads.",
     "The attention weights of one query sum to 1 in each head.", shares_over_heads},
    {"softmax.negative", "The scores went in with the wrong sign: e^(−x).",
     "A larger score gets a larger weight.", shares_of<negated>},
    unscaled("Softmax takes the scaled scores."),
    unmasked("Hidden keys get weight 0."),
    {"softmax.mask-after",
     "Weights were set to 0 after the sum was taken, so the rows no longer sum to 1.",
     "Hide first, then divide.", masked_afterwards},
    needless_mask(masked),
};

}  // namespace

constinit const Operation shift_operation = operation_of<Shift>({
    .name = "shift",
    .title = "Subtract each row's largest number",
    .says =
        "The largest number of each row is subtracted from the whole row. Softmax gives the same "
        "weights with it and without, but e to the power of 0 or less can never get too large.",
    .notice = "Each row now has 0 as its largest number.",
    .operands = R"(["scores"])",
    .options = line_options,
    .mistakes = shift_mistakes,
    .backward = backward_by<GradShifted>,
});

constinit const Operation exp_operation = operation_of<Exp>({
    .name = "exp",
    .title = "Raise e to each number",
    .says = "e ≈ 2.718 is raised to the power of each number. The result is never negative: 0 "
            "becomes 1, -1 becomes 0.3679, minus infinity becomes exactly 0.",
    .notice = "The order of the numbers stays; the gaps between them do not.",
    .operands = R"(["shifted"])",
    .least = 0,
    .mistakes = exp_mistakes,
    .backward = backward_by<GradExp>,
});

constinit const Operation normalise_operation = operation_of<Normalise>({
    .name = "normalise",
    .title = "Divide each row by its sum",
    .says = "Every number is divided by the sum of its row, so that each row sums to 1. Where the "
            "step names sums, it divides by those.",
    .notice = "Each row sums to 1.",
    .operands = R"(["exps"] or ["O", "l"])",
    .options = line_options,
    .makes_weights = true,
    .mistakes = normalise_mistakes,
    .backward = normalise_backward,
});

}  // namespace qkv::inline ops
