#include "ops/attention/score.hpp"
#include "ops/attention/softmax_backward.hpp"
#include "ops/catalogue.hpp"
#include "ops/heads/head_axis.hpp"
#include "ops/kinds/line.hpp"

namespace qkv {
namespace {

// Whether the sums are given, too: those of all tiles.
bool has_sums(const Call& call) { return call.inputs.size() == 2; }

struct Normalise {
  static Form form(const Call& call) {
    if (!has_sums(call)) return form_of_lines(call, "{0} / the sum of ", "");
    return {{"row column", goes_down(call) ? "1 column" : "row 1"}, "row column", "{0} / {1}"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return has_sums(*c.call) ? by_sums(c) : by_line(c);
  }

  template <class N>
  static N by_sums(const Cell<N>& c) {
    const N own = c(0)(c.row, c.column);
    const N total = goes_down(*c.call) ? c(1)(0, c.column) : c(1)(c.row, 0);
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
    const std::size_t i = place_in_line(c);
    if constexpr (std::is_same_v<N, Interval>) {
      Interval rest = 0.0;
      for (std::size_t j = 0; j < line.size(); ++j) {
        if (j != i) rest = rest + line(j);
      }
      return corners(line(i), rest);
    } else {
      if constexpr (std::is_same_v<N, Decimal>) {
        if (line(i).value() == 0) return line(i);  // of whatever the sum is
        if (is_alone(c, 0)) return 1.0;            // all of the sum
      }
      const N total = sum<N>(line.size(), [&](std::size_t j) { return line(j); });
      if constexpr (std::is_same_v<N, double>) return share(line(i), total);
      if (number_of(total) == 0 && number_of(line(i)) == 0) return line(i);  // as share() has it
      return line(i) / total;
    }
  }

  // x / (x + rest) is monotone in x and in the rest as long as the sum is not 0: four corners.
  static Interval corners(Interval own, Interval rest) {
    if (own.low >= 0 && rest.low >= 0) {  // all of the sum at most
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

  static MatrixRange bounds(const MatrixRange& x, Along along) {
    const Matrix low = sums_of_others(x.low, along);
    const Matrix high = sums_of_others(x.high, along);
    MatrixRange cells{x.low, x.high};
    for (std::size_t i = 0; i < low.size(); ++i) {
      const auto at = [&](const Matrix& m) { return m.data()[i]; };
      const Interval part = corners({at(x.low), at(x.high)}, {at(low), at(high)});
      cells.low.data()[i] = part.low;
      cells.high.data()[i] = part.high;
    }
    return cells;
  }

  static Tensor compute(const Call& call) {
    return by_operands(call, form(call), [&](const Operands& of) -> Matrix {
      if (has_sums(call)) return xt::vectorize(share)(of(0), of(1));
      return shares(of(0), along_of(call));
    });
  }

  static std::optional<Range> range(const Call& call, std::span<const Bounds> operands,
                                    const Tensor& result) {
    if (has_sums(call)) return {};
    return range_by_lines(call, operands[0], result, bounds);
  }
};

Matrix whole(const Matrix& x, Along) { return x / total(x); }

std::vector<Tensor> not_normalised(const Source& step) {
  return has_sums(call_of(step)) ? std::vector<Tensor>() : std::vector{step.operand()};
}

std::vector<Tensor> not_divided(const Source& step) {
  return has_sums(call_of(step)) ? std::vector{step.operand()} : std::vector<Tensor>();
}

// Shares of what a formula makes of the exponents.
template <Matrix (*formula)(const Matrix& exponents)>
std::vector<Tensor> shares_of(const Source& step) {
  const Source* raised = behind(step.inputs[0], exp_operation);
  if (!raised) return {};
  const Along along = along_of(call_of(step));
  return {
      by_matrix(raised->operand(), [&](const MatrixView& x) { return shares(formula(x), along); })};
}

Matrix base_2(const Matrix& x) { return xt::exp2(x); }
Matrix base_10(const Matrix& x) { return xt::pow(10.0, x); }
// What is hidden stays so.
Matrix negative(const Matrix& x) { return xt::where(xt::isinf(x), 0.0, xt::exp(-x)); }

// Each cell is divided by the sum of that cell in all heads.
std::vector<Tensor> over_heads(const Source& step) {
  const std::size_t heads = heads_of(step.operand());
  if (heads < 2) return {};
  return {by_heads(step.operand(), heads, [](const Matrix& x) -> Matrix {
    const Matrix totals = sums(x, Along::columns);
    return xt::where(xt::equal(totals, 0.0), 0.0, x / totals);
  })};
}

// A causal mask where the lesson has none.
std::vector<Tensor> masked(const Source& step) {
  if (behind(&step, mask_operation)) return {};
  const Along along = along_of(call_of(step));
  return {by_matrix(*step.inputs[0]->tensor,
                    [&](const MatrixView& x) { return shares(xt::tril(Matrix(x)), along); })};
}

constexpr Mistake normalise_mistakes[] = {
    {"softmax.columns", "The sums were taken along the wrong axis.",
     "The weights of one query sum to 1.", along_other_axis},
    {"softmax.whole", "Everything was divided by the sum of the whole matrix.",
     "Every query has its own sum to divide by.", with_lines<whole>},
    {"softmax.not-normalised", "Nothing was divided by its sum.",
     "The weights of one query sum to 1.", not_normalised},
    {"flash.not-divided", "The output was not divided by the sum of the weights.",
     "After the last tile, divide each row by its sum.", not_divided},
    {"softmax.no-exp", "The scores were divided by their plain sum, without e^x.",
     "First e to the power of each score, then divide.", shares_of<finite>},
    {"softmax.base-2", "2 was raised to the scores instead of e.", "e ≈ 2.718.", shares_of<base_2>},
    {"softmax.base-2", "10 was raised to the scores instead of e.", "e ≈ 2.718.",
     shares_of<base_10>},
    {"softmax.heads", "The sums were taken over the heads.",
     "The weights of one query sum to 1 in each head.", over_heads},
    {"softmax.negative", "The scores went in with the wrong sign: e^(−x).",
     "A larger score gets a larger weight.", shares_of<negative>},
    {"softmax.unscaled", "The scores went in before they were scaled.",
     "Softmax takes the scaled scores.", unscaled},
    {"softmax.unmasked", "The mask was ignored.", "Hidden keys get weight 0.", unmasked},
    {"softmax.mask-after",
     "Weights were set to 0 after the sum was taken, so the rows no longer sum to 1.",
     "Hide first, then divide.", hidden_afterwards},
    needless_mask(masked),
};

}  // namespace

constinit const Operation normalise_operation = operation_of<Normalise>({
    .name = "normalise",
    .title = "Divide each row by its sum",
    .says =
        "Every number is divided by the sum of its row, so that each row becomes shares of 1; or "
        "by sums that were worked out beside it.",
    .notice = "Each row sums to 1.",
    .operands = R"(["exps"] or ["O", "l"])",
    .most = 2,
    .options = line_options,
    .makes_weights = true,
    .mistakes = normalise_mistakes,
    .way_back = back_through_normalise,
});

}  // namespace qkv
