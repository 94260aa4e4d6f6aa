#include <cmath>

#include "ops/catalogue.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/kinds/gradient.hpp"
#include "ops/kinds/line.hpp"
#include "ops/numbers/functions.hpp"
#include "ops/numbers/larger.hpp"

namespace qkv {
namespace {

// What stands in a cell: the two partial outputs, and the log-sum-exp of each.
template <class N>
struct Parts {
  N output_1, lse_1, output_2, lse_2;
};

// (e^(L_1 − M) · O_1 + e^(L_2 − M) · O_2) / (e^(L_1 − M) + e^(L_2 − M)), M being the larger of the
// two: any other gives the same, but this one never overflows. Where all is hidden it is 0.
template <class N>
N merged(const Parts<N>& p) {
  const N lses[] = {p.lse_1, p.lse_2};
  const N top = largest_of<N>(2, [&](std::size_t k) { return lses[k]; });
  if (number_of(top) == -infinity) return 0.0;
  const N first = power(p.lse_1, top);
  const N second = power(p.lse_2, top);
  return (first * p.output_1 + second * p.output_2) / (first + second);
}

// The share of the first part: the larger its own log-sum-exp and the smaller the other's.
double share_of_first(double lse_1, double lse_2) {
  return merged(Parts<double>{1, lse_1, 0, lse_2});
}

// Rises with both outputs, and is in between them: the range ends where the shares do.
template <>
Interval merged(const Parts<Interval>& p) {
  if (p.lse_1.high == -infinity && p.lse_2.high == -infinity) return 0.0;
  const double least = share_of_first(p.lse_1.low, p.lse_2.high);
  const double most = share_of_first(p.lse_1.high, p.lse_2.low);
  const auto mixed = [](double share, double a, double b) { return share * a + (1 - share) * b; };
  return {std::min(mixed(least, p.output_1.low, p.output_2.low),
                   mixed(most, p.output_1.low, p.output_2.low)),
          std::max(mixed(least, p.output_1.high, p.output_2.high),
                   mixed(most, p.output_1.high, p.output_2.high))};
}

// What is alone stays as it is, whatever its share was rounded to.
template <>
Decimal merged(const Parts<Decimal>& p) {
  if (p.lse_1.value() == -infinity) return p.output_2;
  if (p.lse_2.value() == -infinity) return p.output_1;
  if (!p.lse_1.is_exact() || p.lse_1.value() != p.lse_2.value()) return Decimal::unknown();
  return (p.output_1 + p.output_2) / Decimal(2.0);
}

struct Merge {
  static Form form(const Call&) {
    return {{"query d_v", "query 1", "query d_v", "query 1"},
            "query d_v",
            "e^({1} − L) · {0} + e^({3} − L) · {2}, L = ln(e^{1} + e^{3})"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return merged(
        Parts<N>{c(0)(c.row, c.column), c(1)(c.row, 0), c(2)(c.row, c.column), c(3)(c.row, 0)});
  }
};

using Formula = double (*)(const Parts<double>&);

template <Formula formula>
std::vector<Tensor> by_cells(const Source& step) {
  const auto cell = [](double o_1, double l_1, double o_2, double l_2) {
    return formula({o_1, l_1, o_2, l_2});
  };
  return {by_operands(call_of(step), *step.tensor, [&](const Operands& of) -> Matrix {
    return xt::vectorize(cell)(of(0), of(1), of(2), of(3));
  })};
}

double average(const Parts<double>& p) { return (p.output_1 + p.output_2) / 2; }
double added(const Parts<double>& p) { return p.output_1 + p.output_2; }
double backwards(const Parts<double>& p) {
  return merged(Parts<double>{p.output_1, p.lse_2, p.output_2, p.lse_1});
}
double base_2(const Parts<double>& p) {
  return merged(
      Parts<double>{p.output_1, p.lse_1 * std::log(2), p.output_2, p.lse_2 * std::log(2)});
}
double not_divided(const Parts<double>& p) {
  return std::exp(p.lse_1) * p.output_1 + std::exp(p.lse_2) * p.output_2;
}
double shifted_not_divided(const Parts<double>& p) {
  const double top = larger(p.lse_1, p.lse_2);
  return power(p.lse_1, top) * p.output_1 + power(p.lse_2, top) * p.output_2;
}

constexpr Mistake merge_mistakes[] = {
    {"flash.plain-average", "The plain average of the two outputs was taken.",
     "The output with the larger log-sum-exp counts for more.", by_cells<average>},
    {"flash.output-not-rescaled", "The two outputs were added as they are.",
     "Each is multiplied by its share first.", by_cells<added>},
    {"flash.rescaled-backwards", "Each output was multiplied by the other's share.",
     "The share of an output goes by its own log-sum-exp.", by_cells<backwards>},
    {"flash.not-divided", "Nothing was divided by the sum of the two powers.",
     "The two shares sum to 1.", by_cells<not_divided>},
    {"flash.not-divided", "Nothing was divided by the sum of the two powers.",
     "The two shares sum to 1.", by_cells<shifted_not_divided>},
    {"flash.lse-base-2", "2 was raised to the log-sum-exps instead of e.", "e ≈ 2.718.",
     by_cells<base_2>},
};

// What an output counts for: its share of the two.
template <class N>
N share_of(const N& own, const N& other) {
  return merged(Parts<N>{1.0, own, 0.0, other});
}

// O = s·O_1 + (1 − s)·O_2: dO_1 = s · dO.
struct ToPart {
  static Form form(const Call&) {
    return {{"query d_v", "query d_v", "query 1", "query 1"},
            "query d_v",
            "{0} ∘ e^({2} − L), L = ln(e^{2} + e^{3})"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(arriving)(c.row, c.column) * share_of(c(2)(c.row, 0), c(3)(c.row, 0));
  }
};

// The share grows by itself times what is left of 1; so dL_1 is the sum of dO ∘ s · (O_1 − O).
struct ToShare {
  static Form form(const Call&) {
    return {{"query d_v", "query 1", "query 1", "query d_v", "query d_v"},
            "query d_v",
            "row sums of {0} ∘ ({3} − {4}) · e^({1} − L), L = ln(e^{1} + e^{2})",
            "column sums of {0} ∘ ({3} − {4}) · e^({1} − L), L = ln(e^{1} + e^{2})"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(arriving)(c.row, c.column) * (c(3)(c.row, c.column) - c(4)(c.row, c.column)) *
           share_of(c(own_operand)(c.row, 0), c(first_need)(c.row, 0));
  }
};

constinit const Operation merge_to_part = gradient_of<Gradient<ToPart>>({
    .title = "Back to a part's output",
    .says =
        "A part counts for its share of the powers: its gradient is that share of what arrives.",
    .notice = "The two parts' gradients sum to what arrived.",
});

constinit const Operation merge_to_share = gradient_of<Gradient<ToShare>>({
    .title = "Back to a part's log-sum-exp",
    .says = "A larger log-sum-exp gives its part more and the other one less. How far the part's "
            "own output is from the merged one, times what arrives, is added up over the features "
            "and multiplied by the part's share.",
    .notice = "The two are each other's negative.",
});

WayBack back_through_merge(const Use& use) {
  const std::size_t part = use.operand / 2 * 2;  // its output, then its log-sum-exp
  const std::size_t other = 2 - part;
  if (use.operand == part) return {&merge_to_part, {part + 1, other + 1}};
  return {&merge_to_share, {other + 1, part, WayBack::result}};
}

}  // namespace

constinit const Operation merge_operation = operation_of<Merge>({
    .name = "merge",
    .title = "Put two partial outputs together by their log-sum-exp",
    .says = "Two parts of the keys were worked apart, each with an output of its own. Each output "
            "counts for its share of all powers of e, which its log-sum-exp keeps. What comes out "
            "is as if there had been no parts.",
    .notice = "Each number lies between its two.",
    .operands = R"(["O_1", "L_1", "O_2", "L_2"])",
    .fewest = 4,
    .most = 4,
    .mistakes = merge_mistakes,
    .way_back = back_through_merge,
});

}  // namespace qkv
