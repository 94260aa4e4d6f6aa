#include <cmath>
#include <numbers>

#include "ops/catalogue.hpp"
#include "ops/kinds/cellwise_back.hpp"
#include "ops/kinds/line.hpp"
#include "ops/numbers/functions.hpp"

namespace qkv {
namespace {

bool is_from_sums(const Call& call) { return call.inputs.size() == 2; }

template <class N>
N log_sum_exp(const Line<N>& line) {
  using std::log;
  const N top = largest(line);
  if (number_of(top) == -infinity) return top;
  return top + log(sum<N>(line.size(), [&](std::size_t j) { return power(line(j), top); }));
}

// It rises with each of its numbers.
template <>
Interval log_sum_exp(const Line<Interval>& line) {
  const auto corner = [&](bool high) {
    std::vector<double> scores(line.size());
    for (std::size_t j = 0; j < scores.size(); ++j) scores[j] = high ? line(j).high : line(j).low;
    return log_sum_exp(Line<double>{{scores, 1, scores.size()}, 0, false});
  };
  return {corner(false), corner(true)};
}

template <class N>
N with_top(const N& top, const N& sum) {
  using std::log;
  if constexpr (std::is_same_v<N, Decimal>) {
    if (top.value() == -infinity) return top;
  }
  return top + log(sum);
}

struct LogSumExp {
  static Form form(const Call& call) {
    if (is_from_sums(call)) return {{"query 1", "query 1"}, "query 1", "{0} + ln {1}"};
    if (call.inputs[0]->columns() == 0) refuse(call, operand_text(call, 0) + " has no scores");
    const std::string sum = "ln of the sum of e^x over each ";
    return {{"query key"}, "query 1", sum + "row of {0}", sum + "column of {0}"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    if (is_from_sums(*c.call)) return with_top(c(0)(c.row, 0), c(1)(c.row, 0));
    return log_sum_exp(Line<N>{c(0), c.row, false});
  }
};

// Maximum and sum as the step has them; of scores they are made here.
struct Parts {
  Matrix top, sum;
};

Parts parts_of(const Operands& of) {
  if (is_from_sums(*of.at().call)) return {of(0), of(1)};
  const Matrix top = tops(of(0));
  const Matrix powers = xt::vectorize(static_cast<double (*)(double, double)>(power))(of(0), top);
  return {top, sums(powers)};
}

template <Matrix (*formula)(const Parts&)>
std::vector<Tensor> by_parts(const Source& step) {
  return {by_operands(call_of(step), *step.tensor,
                      [](const Operands& of) { return formula(parts_of(of)); })};
}

Matrix base_2(const Parts& p) { return p.top + xt::log2(p.sum); }
Matrix base_2_throughout(const Parts& p) { return (p.top + xt::log(p.sum)) * std::numbers::log2e; }
Matrix without_top(const Parts& p) { return xt::log(p.sum); }

constexpr Mistake log_sum_exp_mistakes[] = {
    {"flash.lse-base-2", "The logarithm to base 2 was taken of the sum: m + log₂ l.",
     "ln, the logarithm to base e.", by_parts<base_2>},
    {"flash.lse-base-2", "The logarithm is the one to base 2.", "ln, the logarithm to base e.",
     by_parts<base_2_throughout>},
    {"flash.lse-without-max", "The maximum was not added: ln l.",
     "The powers were worked with the maximum taken off; add it again.", by_parts<without_top>},
};

// L of scores: dS is dL by their softmax, e^(S − L).
struct ToScoresOfSum {
  static Form form(const Call&) {
    return {{"query 1", "query key", "query 1"}, "query key", "{0} ∘ e^({1} − {2})"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(arriving)(c.row, 0) * power(c(own_operand)(c.row, c.column), c(first_need)(c.row, 0));
  }
};

// L = m + ln l.
struct ToSumOfPowers {
  static Form form(const Call&) { return {{"query 1"}, "query 1", "{0} / {1}"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(arriving)(c.row, 0) / c(own_operand)(c.row, 0);
  }
};

constinit const Operation lse_to_scores = gradient_of<Gradient<ToScoresOfSum>>({
    .title = "Back to the scores, by their softmax",
    .says = "A score that grows moves the log-sum-exp by its share of the row's powers, which is "
            "its softmax: the gradient is multiplied by that.",
    .notice = "Each row sums to what arrived.",
});

constinit const Operation lse_to_max = gradient_of<Gradient<PassBack>>({
    .title = "Back to the maximum",
    .says = "The maximum was added: the gradient passes.",
    .notice = "The same numbers.",
});

constinit const Operation lse_to_sum = gradient_of<Gradient<ToSumOfPowers>>({
    .title = "Back to the sum",
    .says = "A logarithm climbs the less steeply the larger its number is: the gradient is divided "
            "by the sum.",
    .notice = "Divided by the same numbers.",
});

WayBack back_through_log_sum_exp(const Use& use) {
  if (use.operands == 1) return {&lse_to_scores, {WayBack::result}};
  return {use.operand == 0 ? &lse_to_max : &lse_to_sum};
}

}  // namespace

constinit const Operation log_sum_exp_operation = operation_of<LogSumExp>({
    .name = "log_sum_exp",
    .title = "The logarithm of the sum of all powers",
    .says = "The largest number plus the logarithm of the sum of e to each number less that one: "
            "ln of the sum of all e^x, which would overflow by itself. A score less this number is "
            "the logarithm of its softmax.",
    .notice = "A little above the largest number, and more the more numbers are near it.",
    .operands = R"(["S"] or ["m", "l"])",
    .most = 2,
    .mistakes = log_sum_exp_mistakes,
    .way_back = back_through_log_sum_exp,
});

}  // namespace qkv
