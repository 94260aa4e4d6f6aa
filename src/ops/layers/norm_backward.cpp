#include "ops/layers/norms.hpp"

#include "ops/kinds/cellwise.hpp"
#include "ops/kinds/line.hpp"

namespace qkv::inline ops {
namespace {

/// An interval with interval derivatives (forward-mode differentiation): a number's range, safe but
/// wide if an input occurs more than once, and its slope in each input. It has `+ - * /` and sqrt,
/// so templates over doubles accept it.
class DualInterval {
 public:
  DualInterval(double exact) : value_(exact) {}  // NOLINT: a number is an interval without slopes

  static DualInterval of_input(Interval range, std::size_t input, std::size_t inputs) {
    DualInterval dual(0);
    dual.value_ = range;
    dual.slopes_.assign(inputs, 0.0);
    dual.slopes_[input] = 1.0;
    return dual;
  }

  Interval value() const { return value_; }
  Interval slope(std::size_t input) const { return slopes_.empty() ? 0.0 : slopes_[input]; }

  friend DualInterval operator+(const DualInterval& a, const DualInterval& b) {
    return chained(a.value_ + b.value_, a, 1.0, b, 1.0);
  }

  friend DualInterval operator-(const DualInterval& a, const DualInterval& b) {
    return chained(a.value_ - b.value_, a, 1.0, b, -1.0);
  }

  friend DualInterval operator*(const DualInterval& a, const DualInterval& b) {
    const Interval value = &a == &b ? squared(a.value_) : a.value_ * b.value_;
    return chained(value, a, b.value_, b, a.value_);
  }

  friend DualInterval operator/(const DualInterval& a, const DualInterval& b) {
    const Interval value = a.value_ / b.value_;
    return chained(value, a, Interval(1.0) / b.value_, b, Interval(0.0) - value / b.value_);
  }

  friend DualInterval sqrt(const DualInterval& x) {
    const Interval value = sqrt(x.value_);
    return chained(value, x, Interval(0.5) / value, x, 0.0);
  }

 private:
  // The chain rule: a's slopes times `of_a` plus b's times `of_b`.
  static DualInterval chained(Interval value, const DualInterval& a, Interval of_a,
                              const DualInterval& b, Interval of_b) {
    DualInterval result(0);
    result.value_ = value;
    result.slopes_.resize(std::max(a.slopes_.size(), b.slopes_.size()));
    for (std::size_t k = 0; k < result.slopes_.size(); ++k) {
      result.slopes_[k] = a.slope(k) * of_a + b.slope(k) * of_b;
    }
    return result;
  }

  Interval value_;
  std::vector<Interval> slopes_;
};

/// Returns a cell of these inputs.
template <class N, class CellOf>
N worked_out(const std::vector<N>& inputs, const CellOf& cell_of) {
  return cell_of(inputs);
}

/// Its bounds over a box of inputs, which occur several times. By the mean value theorem they are
/// its value in the middle, and at most each slope times the input's distance from there. `cell_of`
/// returns it from numbers, or from dual intervals.
template <class CellOf>
Interval worked_out(const std::vector<Interval>& inputs, const CellOf& cell_of) {
  std::vector<double> middle;
  std::vector<DualInterval> climbs;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    middle.push_back(inputs[k].low + (inputs[k].high - inputs[k].low) / 2);
    climbs.push_back(DualInterval::of_input(inputs[k], k, inputs.size()));
  }
  const DualInterval whole = cell_of(climbs);
  Interval range = cell_of(middle);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    range = range + whole.slope(k) * (inputs[k] - Interval(middle[k]));
  }
  const Interval wide = whole.value();
  if (std::isnan(range.low) || std::isnan(range.high)) return wide;
  return meet(range, wide);
}

// The gradient of a row x, where t is the output's gradient times the gain. That of x_i is
// (t_i − mean(t) − x̂_i · mean(t ∘ x̂)) / root; RMS norm has no mean(t). Both rows must outlive it.
template <class N>
struct NormGradient {
  const std::vector<N>& x;
  const std::vector<N>& t;
  RowNorm<N> row;
  N mean = 0.0, shared = 0.0;

  NormGradient(const std::vector<N>& its_x, const std::vector<N>& its_t, Norm norm, double eps)
      : x(its_x), t(its_t), row(row_norm(x, norm, eps)) {
    const N width = static_cast<double>(x.size());
    shared = sum<N>(x.size(), [&](std::size_t j) { return t[j] * row(x[j]); }) / width;
    if (norm == Norm::layer) mean = sum<N>(x.size(), [&](std::size_t j) { return t[j]; }) / width;
  }

  N operator()(std::size_t i) const {
    const N own = row.norm == Norm::rms ? t[i] : t[i] - mean;
    return (own - row(x[i]) * shared) / row.root;
  }
};

// The output's gradient times the gain, for each cell of a row.
template <class N>
std::vector<N> by_gain(const Cell<N>& c) {
  const auto change = c(grad_output);
  const auto gain = c(saved_other);
  const double offset = offset_of(*c.call);
  return mapped_places(change.columns, [&](std::size_t j) -> N {
    return change(c.row, j) * (offset == 0 ? gain(0, j) : N(offset) + gain(0, j));
  });
}

// The code of `c`, a row less its mean, and of `r`, the root of its mean square.
std::string code_of_row(const Call& call, Norm norm, std::string_view row) {
  return fmt::format("c = {0}{1}; r = {{np}}.sqrt((c ** 2).mean({{keep}}) + {2}); ", row,
                     norm == Norm::rms ? "" : fmt::format(" - {}.mean({{keep}})", row),
                     eps_of(call));
}

template <Norm norm>
struct GradRow {
  static constexpr GradientWords words{
      "Back through the norm",
      "Each number of a row also changes the root that the whole row is divided by (and the mean, "
      "if that is subtracted). So the part of the gradients that would only scale or shift the "
      "whole row is removed.",
      "To scale the whole row would not change the loss."};
  static constexpr Role needs[] = {Role{1}};

  static std::string code_of(const Call& call) {
    return code_of_row(call, norm, "{r1}") +
           fmt::format("t = {{r0}} * {}; {{=}}(t{} - c / r ** 2 * (t * c).mean({{keep}})) / r",
                       offset_of(call) == 0 ? "{r2}" : "(1 + {r2})",
                       norm == Norm::rms ? "" : " - t.mean({keep})");
  }

  static Form form(const Call& call) {
    const std::string t = offset_of(call) == 0 ? "{0} · {2}" : "{0} · (1 + {2})";
    const std::string means = norm == Norm::layer ? "t − its row mean − x̂ · the row mean of t ∘ x̂"
                                                  : "t − x̂ · the row mean of t ∘ x̂";
    return with_columns({{"row column", "row column", "1 column"},
                         "row column",
                         "(" + means + ") / the root of {1}, t = " + t + ", x̂ = {1} normalised"});
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    std::vector<N> x_and_t = numbers_of(line_of(c, self));
    const auto width = static_cast<long>(x_and_t.size());
    const std::vector<N> its_t = by_gain(c);
    x_and_t.insert(x_and_t.end(), its_t.begin(), its_t.end());
    return worked_out(x_and_t, [&](const auto& all) {
      const std::vector x(all.begin(), all.begin() + width);
      const std::vector t(all.begin() + width, all.end());
      return NormGradient(x, t, norm, eps_of(*c.call))(c.column);
    });
  }

  static void fill_row(const Operands& of, std::span<double> cells) {
    const Call& call = *of.at().call;
    const auto times_gain = [offset = offset_of(call)](double change, double gain) {
      return change * (offset + gain);
    };
    std::vector<double> t(cells.size());
    std::ranges::transform(of.row(grad_output), of.row(saved_other), t.begin(), times_gain);
    const std::vector<double> x(of.row(self).begin(), of.row(self).end());
    const NormGradient<double> gradient(x, t, norm, eps_of(call));
    for (std::size_t j = 0; j < cells.size(); ++j) cells[j] = gradient(j);
  }
};

// The gradient of the gain: dY ∘ x̂, summed over the rows.
template <Norm norm>
struct GradGain : FormByRows<"the column sums of {0} ∘ x̂, x̂ = {2} normalised", "row column",
                             "row column", "1 column", "row column"> {
  static constexpr GradientWords words{"Back to the gain",
                                       "The gain was multiplied with every normalised row. So the "
                                       "gradients times those rows are added up.",
                                       "One number for each feature."};
  static constexpr Role needs[] = {Role{0}};

  static std::string code_of(const Call& call) {
    return code_of_row(call, norm, "{r2}") + "{=}{r0} * c / r";
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const std::vector<N> x = numbers_of(line_of(c, saved_other));
    const auto normed = [&](const auto& row) {
      return row_norm(row, norm, eps_of(*c.call))(row[c.column]);
    };
    return c(grad_output)(c.row, c.column) * worked_out(x, normed);
  }

  static void fill_row(const Operands& of, std::span<double> cells) {
    const auto x = of.row(saved_other);
    const RowNorm<double> row = row_norm(x, norm, eps_of(*of.at().call));
    std::ranges::transform(of.row(grad_output), x, cells.begin(),
                           [&](double change, double number) { return change * row(number); });
  }
};

// The gain alone, as if root and mean did not depend on x.
template <Norm norm>
Versions gain_only(const StepView& step) {
  const Call call = call_of(step);
  Versions results;
  for (const bool divided : {true, false}) {
    const auto fill = [&](const Operands& of, std::span<double> cells) {
      const double root = divided ? row_norm(of.row(self), norm, eps_of(call)).root : 1;
      for (std::size_t j = 0; j < cells.size(); ++j) {
        cells[j] = of.row(grad_output)[j] * (offset_of(call) + of.row(saved_other)[j]) / root;
      }
    };
    Tensor whole = broadcast_frame(call, GradRow<norm>::form(call));
    results.push_back(unbroadcast(call, by_rows(call, std::move(whole), 8, fill)));
  }
  return results;
}

template <Norm norm>
constexpr Mistake norm_backward_mistakes[] = {
    {"layer-norm-backward.gain-only",
     "The gradient went back through the gain alone, as if the root did not depend on x.",
     "x is in the root, too (and in the mean): each adds to the gradient.", gain_only<norm>},
};

template <Norm norm>
BackwardRule norm_backward(const OperandRef& use) {
  return backward_by<WithMistakes<GradRow<norm>, norm_backward_mistakes<norm>>,
                     Repeated<GradGain<norm>>, Repeated<BiasBackward<"the column sums of {0}">>>(
      use);
}

}  // namespace

BackwardRule layer_norm_backward(const OperandRef& use) { return norm_backward<Norm::layer>(use); }
BackwardRule rms_norm_backward(const OperandRef& use) { return norm_backward<Norm::rms>(use); }

}  // namespace qkv::inline ops
