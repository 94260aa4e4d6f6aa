#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/catalogue.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/kinds/gradient.hpp"
#include "ops/shape_rule.hpp"
#include "tensor/parallel.hpp"
#include "tensor/row_kernels.hpp"

namespace qkv {
namespace {

constexpr std::string_view forms[] = {"tanh", "erf"};
constexpr OptionRule gelu_options[] = {
    {.name = "form",
     .says = "GPT-2's approximation with tanh, or the exact one with the error function",
     .list = forms},
};

bool is_exact(const Call& call) { return call.options->word("form", "tanh") == "erf"; }

// x · Φ(x), Φ being the share of a normal distribution below x (Hendrycks and Gimpel, 2016, with
// their approximation by tanh).
template <class N>
N under_tanh(const N& x) {
  const N slope = std::sqrt(2 / std::numbers::pi);
  return slope * (x + N(0.044715) * x * x * x);
}

template <class N>
N gelu(const N& x, bool exact) {
  using std::erf;
  using std::tanh;
  const N half = 0.5;
  const N one = 1.0;
  if (exact) return half * x * (one + erf(x / N(std::numbers::sqrt2)));
  return half * x * (one + tanh(under_tanh(x)));
}

// The same of a long row: tanh of eight numbers at a time.
void gelu_long_row(std::span<const double> x, std::span<double> cells) {
  std::ranges::transform(x, cells.begin(), under_tanh<double>);
  tanh_row(cells);
  for (std::size_t j = 0; j < cells.size(); ++j) cells[j] = 0.5 * x[j] * (1 + cells[j]);
}

// Falls down to one lowest point, then rises: the range ends at the two ends or at that point.
Interval range(Interval x, bool exact) {
  const double lowest = exact ? -0.7517915246935645 : -0.7524614220710162;
  Interval ends = hull(gelu(x.low, exact), gelu(x.high, exact));
  if (x.low < lowest && lowest < x.high) ends = hull(ends, gelu(lowest, exact));
  return ends;
}

struct Gelu {
  static Form form(const Call&) { return {{"row column"}, "row column", "GELU({0})"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    if constexpr (std::is_same_v<N, Interval>) {
      return range(c(0)(c.row, c.column), is_exact(*c.call));
    } else {
      return gelu(c(0)(c.row, c.column), is_exact(*c.call));
    }
  }

  static Tensor compute(const Call& call) {
    Tensor result = output_of(call, form(call));
    const bool exact = is_exact(call);
    const bool is_large = !exact && result.values.size() > teaching_numbers;
    return by_rows(call, std::move(result), is_large ? 8 : 32,
                   [&](const Operands& of, std::span<double> cells) {
                     if (is_large) return gelu_long_row(of.row(0), cells);
                     std::ranges::transform(of.row(0), cells.begin(),
                                            [&](double x) { return gelu(x, exact); });
                   });
  }
};

// The slope of GELU.
template <class N>
N slope(const N& x, bool exact) {
  using std::erf;
  using std::exp;
  using std::tanh;
  const N half = 0.5;
  const N one = 1.0;
  if (exact) {
    return half * (one + erf(x / N(std::numbers::sqrt2))) +
           x * exp(x * x / N(-2.0)) / N(std::sqrt(2 * std::numbers::pi));
  }
  const N t = tanh(under_tanh(x));
  const N inner = N(std::sqrt(2 / std::numbers::pi)) * (one + N(3 * 0.044715) * x * x);
  return half * (one + t) + half * x * (one - t * t) * inner;
}

// It falls, climbs and falls again, being steepest where x² is about 2: the range ends at the ends
// or there.
Interval slope_range(Interval x, bool exact) {
  const double steepest = exact ? std::numbers::sqrt2 : 1.4185040087908283;
  Interval found = hull(slope(x.low, exact), slope(x.high, exact));
  for (const double turn : {-steepest, steepest}) {
    if (x.low < turn && turn < x.high) found = hull(found, slope(turn, exact));
  }
  return found;
}

struct GeluBack {
  static Form form(const Call& call) {
    return {{"row column"},
            "row column",
            is_exact(call) ? "{0} ∘ (Φ({1}) + {1} · φ({1}))" : "{0} ∘ GELU′({1})"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const N x = c(own_operand)(c.row, c.column);
    if constexpr (std::is_same_v<N, Interval>) {
      return c(arriving)(c.row, c.column) * slope_range(x, is_exact(*c.call));
    } else {
      return c(arriving)(c.row, c.column) * slope(x, is_exact(*c.call));
    }
  }

  static Tensor compute(const Call& call, Tensor whole) {
    const bool exact = is_exact(call);
    constexpr std::size_t operations = 40;
    return by_rows(
        call, std::move(whole), operations, [&](const Operands& of, std::span<double> cells) {
          const auto times_slope = [&](double change, double x) {
            return change * slope(x, exact);
          };
          std::ranges::transform(of.row(arriving), of.row(own_operand), cells.begin(), times_slope);
        });
  }
};

// The slope of the one form with the other's parts, and the other form's whole.
std::vector<Tensor> mixed_forms(const Source& step) {
  const Call call = call_of(step);
  const Tensor& x = step.operand(own_operand);
  const Tensor& change = step.operand(arriving);
  Tensor other = change;
  Tensor mixed = change;
  Tensor mixed_too = change;
  const bool exact = is_exact(call);
  const auto share = [](double at, bool with_erf) {
    return 0.5 * (1 + (with_erf ? std::erf(at / std::numbers::sqrt2) : std::tanh(under_tanh(at))));
  };
  for (std::size_t i = 0; i < change.values.size(); ++i) {
    const double at = x.values[i];
    other.values.write()[i] *= slope(at, !exact);
    mixed.values.write()[i] *= share(at, exact) + slope(at, !exact) - share(at, !exact);
    mixed_too.values.write()[i] *= share(at, !exact) + slope(at, exact) - share(at, exact);
  }
  return {other, mixed, mixed_too};
}

constexpr Mistake gelu_back_mistakes[] = {
    {"gelu-backward.mixed-forms", "The slope is that of GELU's other form, or of both in part.",
     "Take the derivative of the form that the step has: tanh or erf.", mixed_forms},
};

constinit const Operation gelu_back = gradient_of<Gradient<GeluBack>>({
    .title = "Back through GELU",
    .says = "The gradient is multiplied by how steeply GELU climbs at each number: nearly 1 far "
            "to the right, nearly 0 far to the left, and a little below 0 on the way there.",
    .notice = "Where is the slope negative?",
    .mistakes = gelu_back_mistakes,
});

WayBack back_through_gelu(const Use&) { return {&gelu_back}; }

}  // namespace

constinit const Operation gelu_operation = operation_of<Gelu>({
    .name = "gelu",
    .title = "Let through what is positive, softly (GELU)",
    .says = "Large positive numbers pass, large negative ones become 0, and near 0 the change is "
            "smooth.",
    .notice = "Compare with ReLU: small negative numbers leave a little behind.",
    .operands = R"(["H"])",
    .options = gelu_options,
    .way_back = back_through_gelu,
});

}  // namespace qkv
