#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/catalogue.hpp"
#include "ops/formula.hpp"
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

}  // namespace

constinit const Operation gelu_operation = operation_of<Gelu>({
    .name = "gelu",
    .title = "Let through what is positive, softly (GELU)",
    .says = "Large positive numbers pass, large negative ones become 0, and near 0 the change is "
            "smooth.",
    .notice = "Compare with ReLU: small negative numbers leave a little behind.",
    .operands = R"(["H"])",
    .options = gelu_options,
});

}  // namespace qkv
