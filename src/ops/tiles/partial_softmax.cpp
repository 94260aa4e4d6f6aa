#include "ops/attention/softmax.hpp"
#include "ops/kinds/cellwise.hpp"

namespace qkv::inline ops {
namespace {

bool is_from_sums(const Call& call) { return call.inputs.size() == 2; }

template <class N>
N log_sum_exp(const Line<N>& line) {
  using std::log;
  const N top = largest(line);
  if (as_double(top) == -infinity) return top;
  return top + log(sum<N>(line.size(), [&](std::size_t j) { return power(line(j), top); }));
}

// Rises with each of its numbers.
template <>
Interval log_sum_exp(const Line<Interval>& line) {
  const auto corner = [&](bool high) {
    const std::vector<double> scores = bounds_of(line, high);
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
  static std::string code_of(const Call& call) {
    if (is_from_sums(call)) return "{0} + {np}.log({1})";
    return "np.logaddexp.reduce({r0}, {keep})\ntorch.logsumexp({r0}, {keep})";
  }

  static Form form(const Call& call) {
    if (is_from_sums(call)) return {{"query 1", "query 1"}, "query 1", "{0} + ln {1}"};
    if (call.inputs[0]->columns() == 0) refuse(call, operand_text(call, 0) + " has no scores");
    return with_columns({{"query key"}, "query 1", "ln of the sum of e^x over each row of {0}"});
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    if (is_from_sums(*c.call)) return with_top(c(0)(c.row, 0), c(1)(c.row, 0));
    return log_sum_exp(Line<N>{c(0), c.row, false});
  }
};

// The step's maximum and sum, computed here if its operand is the scores.
struct TopAndSum {
  Matrix top, sum;
};

TopAndSum top_and_sum(const Operands& of) {
  if (is_from_sums(*of.at().call)) return {of(0), of(1)};
  const Matrix top = maxima(of(0));
  const Matrix powers = xt::vectorize(static_cast<double (*)(double, double)>(power))(of(0), top);
  return {top, sums(powers)};
}

constexpr Mistake log_sum_exp_mistakes[] = {
    {"flash.lse-base-2", "The logarithm to base 2 was taken of the sum: m + log₂ l.",
     "ln, the logarithm to base e.",
     [](const Operands& of) -> Matrix {
       const TopAndSum p = top_and_sum(of);
       return p.top + xt::log2(p.sum);
     }},
    {"flash.lse-base-2", "The logarithm is the one to base 2.", "ln, the logarithm to base e.",
     [](const Operands& of) -> Matrix {
       const TopAndSum p = top_and_sum(of);
       return (p.top + xt::log(p.sum)) * std::numbers::log2e;
     }},
    {"flash.lse-without-max", "The maximum was not added: ln l.",
     "The maximum was subtracted before the powers were taken; add it again.",
     [](const Operands& of) -> Matrix { return xt::log(top_and_sum(of).sum); }},
};

// L = ln Σ e^S: dS = dL ∘ e^(S − L), which is dL times their softmax.
struct GradScoresOfSum
    : FixedForm<"{0} ∘ e^({1} − {2})", "query key", "query 1", "query key", "query 1"> {
  static constexpr GradientWords words{
      "Back to the scores, by their softmax",
      "The derivative of a row's log-sum-exp with respect to a score is that score's softmax. So "
      "the gradient is multiplied by the softmax.",
      "Each row sums to the gradient of its log-sum-exp."};
  static constexpr Role needs[] = {Role::output};

  static auto cell(const auto& c) {
    return c(grad_output)(c.row, 0) * power(c(self)(c.row, c.column), c(saved_output)(c.row, 0));
  }
};

// L = m + ln l: dm = dL, dl = dL / l.
constexpr GradientWords maximum_words{"Back to the maximum",
                                      "The maximum was added, so the gradient stays as it is.",
                                      "The same numbers."};

struct GradSumOfPowers : CellwiseGradient<"{0} / {1}", std::divides<>{}, Role::self> {
  static constexpr GradientWords words{
      "Back to the sum", "The derivative of ln x is 1/x, so the gradient is divided by the sum.",
      "The numbers are those of the forward pass."};

  static Form form(const Call&) { return {{"query 1"}, "query 1", "{0} / {1}"}; }
};

BackwardRule log_sum_exp_backward(const OperandRef& use) {
  if (use.operands == 1) return rule_of<GradScoresOfSum>(use);
  return backward_by<WithWords<IdentityBackward, maximum_words>, GradSumOfPowers>(use);
}

struct TileWeights : FixedForm<"e^({0} − {1})", "query key", "query key", "query 1"> {
  static auto cell(const auto& c) { return power(c(0)(c.row, c.column), c(1)(c.row, 0)); }
};

// A formula of a score and of the maximum of its row; a hidden score stays at 0.
template <auto formula>
double by_max(const Cell<double>& c) {
  const double score = c(0)(c.row, c.column);
  return score == -infinity ? 0 : formula(score, c(1)(c.row, 0));
}

// The maximum before a tile, of its weights; nullptr if it is unknown, or the tile is the first.
const StepView* maximum_before(const StepView& weights) {
  if (weights.operation != &tile_weights_operation) return nullptr;
  const StepView& top = *weights.inputs[1];
  const bool goes_on = top.operation == &running_max_operation && top.inputs.size() == 2;
  return goes_on ? top.inputs[0] : nullptr;
}

// The maximum before the tile, then that of the tile alone.
Versions other_max(const StepView& step) {
  const StepView* before = maximum_before(step);
  if (!before) return {};
  return {*before->tensor, by_operands(call_of(step), *step.inputs[1]->tensor,
                                       [](const Operands& of) { return maxima(of(0)); })};
}

constexpr Mistake tile_weights_mistakes[] = {
    {"flash.max-not-updated", "The maximum before the tile, or that of the tile alone, was taken.",
     "Subtract the largest score so far, the tile's included.", Operand{1, other_max}},
    {"flash.max-not-updated", "No maximum was subtracted.",
     "Subtract the largest score so far before e is raised.",
     by_max<[](double score, double) { return std::exp(score); }>},
    {"flash.normalised-each-tile", "The tile's weights were divided by their sum.",
     "Divide once, after the last tile.",
     [](const StepView& step) -> Versions {
       return {by_matrix(*step.tensor, [](const MatrixView& p) { return shares(p, Along::rows); })};
     }},
    {"softmax.base-2", "2 was raised to the numbers instead of e.", "e ≈ 2.718.",
     by_max<[](double score, double top) { return std::exp2(score - top); }>},
    {"softmax.no-exp", "The differences were left as they are, without e^x.",
     "e to the power of each.", by_max<std::minus<>{}>},
    unscaled("Scaling comes before e^x."),
    unmasked("e to the power of -inf is 0."),
};

// P = e^(S − m): dS = dP ∘ P, and dm is minus the row sums of dS.
struct GradTileScores : CellwiseGradient<"{0} ∘ {2}", std::multiplies<>{}, Role::output> {
  static constexpr GradientWords words{
      "Back through the tile's powers",
      "The derivative of e^x is e^x, so the gradient is multiplied by the power itself.",
      "A hidden score gets 0."};

  static Form form(const Call&) { return {{"query key"}, "query key", "{0} ∘ {2}"}; }
};

struct GradTileMaximum
    : CellwiseGradient<"", [](const auto& change, const auto& p) { return 0.0 - change * p; },
                       Role::output> {
  static constexpr GradientWords words{
      "Back to the maximum",
      "The maximum was subtracted from all scores of its row. So its gradient is the sum of "
      "theirs, with the other sign.",
      "In the end the maximum cancels out: its gradients sum to 0."};

  static Form form(const Call&) {
    return with_columns(
        {{"query key", "query 1", "query key"}, "query key", "−row sums of {0} ∘ {2}"});
  }
};

// The operands of a cell: two partial outputs, and the log-sum-exp of each.
template <class N>
struct Parts {
  N output_1, lse_1, output_2, lse_2;
};

template <class N>
Parts<N> parts_of(const Cell<N>& c) {
  return {c(0)(c.row, c.column), c(1)(c.row, 0), c(2)(c.row, c.column), c(3)(c.row, 0)};
}

// (e^(L_1 − M) · O_1 + e^(L_2 − M) · O_2) / (e^(L_1 − M) + e^(L_2 − M)), where M is the larger of
// the two: any other gives the same, but this one never overflows. 0 if everything is hidden.
template <class N>
N merged(const Parts<N>& p) {
  const N lses[] = {p.lse_1, p.lse_2};
  const N top = nan_max_of<N>(2, [&](std::size_t k) { return lses[k]; });
  if (as_double(top) == -infinity) return 0.0;
  const N first = power(p.lse_1, top);
  const N second = power(p.lse_2, top);
  return (first * p.output_1 + second * p.output_2) / (first + second);
}

// The share of a part: it rises with its own log-sum-exp and falls with the other's.
template <class N>
N share_of(const N& own, const N& other) {
  return merged(Parts<N>{1.0, own, 0.0, other});
}

// Rises with both outputs and lies between them: extremes are at the extremes of the share.
template <>
Interval merged(const Parts<Interval>& p) {
  if (p.lse_1.high == -infinity && p.lse_2.high == -infinity) return 0.0;
  const double least = share_of(p.lse_1.low, p.lse_2.high);
  const double most = share_of(p.lse_1.high, p.lse_2.low);
  const auto mixed = [](double share, double a, double b) { return share * a + (1 - share) * b; };
  return {std::min(mixed(least, p.output_1.low, p.output_2.low),
                   mixed(most, p.output_1.low, p.output_2.low)),
          std::max(mixed(least, p.output_1.high, p.output_2.high),
                   mixed(most, p.output_1.high, p.output_2.high))};
}

// A part that is alone stays as it is, however its share was rounded.
template <>
Decimal merged(const Parts<Decimal>& p) {
  if (p.lse_1.value() == -infinity) return p.output_2;
  if (p.lse_2.value() == -infinity) return p.output_1;
  if (!p.lse_1.is_exact() || p.lse_1.value() != p.lse_2.value()) return Decimal::unknown();
  return (p.output_1 + p.output_2) / Decimal(2.0);
}

struct Merge : FixedForm<"e^({1} − L) · {0} + e^({3} − L) · {2}, L = ln(e^{1} + e^{3})",
                         "query d_v", "query d_v", "query 1", "query d_v", "query 1"> {
  static constexpr std::string_view code =
      "a, b = {np}.exp({1}), {np}.exp({3}); {=}(a * {0} + b * {2}) / (a + b)";

  static auto cell(const auto& c) { return merged(parts_of(c)); }
};

template <auto formula>
double merged_by(const Cell<double>& c) {
  return formula(parts_of(c));
}

// e^(L − top) · O, added up.
double not_divided(const Parts<double>& p, double top) {
  return power(p.lse_1, top) * p.output_1 + power(p.lse_2, top) * p.output_2;
}

constexpr Mistake merge_mistakes[] = {
    {"flash.plain-average", "The plain average of the two outputs was taken.",
     "The output with the larger log-sum-exp counts for more.",
     merged_by<[](const auto& p) { return (p.output_1 + p.output_2) / 2; }>},
    {"flash.output-not-rescaled", "The two outputs were added as they are.",
     "Each is first multiplied by its fraction of the sum.",
     merged_by<[](const auto& p) { return p.output_1 + p.output_2; }>},
    {"flash.rescaled-backwards", "Each output was multiplied by the other's fraction.",
     "The fraction of an output is made from its own log-sum-exp.", merged_by<[](Parts<double> p) {
       std::swap(p.lse_1, p.lse_2);
       return merged(p);
     }>},
    {"flash.not-divided", "Nothing was divided by the sum of the two powers.",
     "The two fractions sum to 1.", merged_by<[](const auto& p) { return not_divided(p, 0); }>},
    {"flash.not-divided", "Nothing was divided by the sum of the two powers.",
     "The two fractions sum to 1.",
     merged_by<[](const auto& p) { return not_divided(p, nan_max(p.lse_1, p.lse_2)); }>},
    {"flash.lse-base-2", "2 was raised to the log-sum-exps instead of e.", "e ≈ 2.718.",
     merged_by<[](Parts<double> p) {
       p.lse_1 *= std::numbers::ln2;
       p.lse_2 *= std::numbers::ln2;
       return merged(p);
     }>},
};

// O = s·O_1 + (1 − s)·O_2: dO_1 = s · dO.
struct GradPart : FixedForm<"{0} ∘ e^({2} − L), L = ln(e^{2} + e^{3})", "query d_v", "query d_v",
                            "query d_v", "query 1"> {
  static constexpr GradientWords words{
      "Back to a part's output",
      "Each part makes up a fraction of the merged output, and gets that fraction of its gradient.",
      "The gradients of the two parts sum to that of the merged output."};
  // What the rule saves: both log-sum-exps.
  static constexpr std::size_t own_lse = saved(0), other_lse = saved(1);

  static constexpr std::string_view code = "{0} / (1 + {np}.exp({3} - {2}))";

  static auto cell(const auto& c) {
    return c(grad_output)(c.row, c.column) * share_of(c(own_lse)(c.row, 0), c(other_lse)(c.row, 0));
  }
};

// s grows with L_1 by s · (1 − s), so dL_1 is the sum of dO ∘ s · (O_1 − O).
struct GradShare
    : FormByRows<"row sums of {0} ∘ ({3} − {4}) · e^({1} − L), L = ln(e^{1} + e^{2})", "query d_v",
                 "query d_v", "query 1", "query 1", "query d_v", "query d_v"> {
  static constexpr GradientWords words{
      "Back to a part's log-sum-exp",
      "A larger log-sum-exp gives its part more weight and the other part less. So the difference "
      "between the part's output and the merged one is multiplied by the gradient and added up. "
      "The sum is multiplied by the part's fraction.",
      "The gradients of the two parts have opposite signs."};
  // What the rule saves: the other part's log-sum-exp, the part's output and the merged one.
  static constexpr std::size_t other_lse = saved(0), part = saved(1), merged = saved(2);

  static constexpr std::string_view code = "{0} * ({3} - {4}) / (1 + {np}.exp({2} - {1}))";

  static auto cell(const auto& c) {
    return c(grad_output)(c.row, c.column) *
           (c(part)(c.row, c.column) - c(merged)(c.row, c.column)) *
           share_of(c(self)(c.row, 0), c(other_lse)(c.row, 0));
  }
};

BackwardRule merge_backward(const OperandRef& use) {
  const std::size_t part = use.operand / 2 * 2;  // its output, then its log-sum-exp
  const Role own_lse{part + 1};
  const Role other_lse{3 - part};
  if (use.operand == part) return {&gradient_operation<GradPart>, {own_lse, other_lse}};
  return {&gradient_operation<GradShare>, {other_lse, Role{part}, Role::output}};
}

}  // namespace

constinit const Operation log_sum_exp_operation = operation_of<LogSumExp>({
    .name = "log_sum_exp",
    .title = "Make the log-sum-exp of each row",
    .says = "The result is ln of the sum of all e^x of a row. To avoid an overflow, the row's "
            "largest number is subtracted first and added again at the end. A score minus this "
            "result is the logarithm of its softmax.",
    .notice = "It is a little above the largest number of the row, and more so if others are close "
              "to that.",
    .operands = R"(["S"] or ["m", "l"])",
    .mistakes = log_sum_exp_mistakes,
    .backward = log_sum_exp_backward,
});

constinit const Operation tile_weights_operation = operation_of<TileWeights>({
    .name = "tile_weights",
    .title = "Raise e to each score of the tile",
    .says =
        "As in softmax, the maximum is subtracted first, but here it is the largest score so far. "
        "These are not attention weights yet: their sum is known only after the last tile.",
    .notice = "No number is above 1; where the score is the maximum so far it is 1.",
    .operands = R"(["S", "m"])",
    .least = 0,
    .mistakes = tile_weights_mistakes,
    .backward = backward_by<GradTileScores, GradTileMaximum>,
});

Versions weights_by_old_max(const StepView& weights) {
  const StepView* before = maximum_before(weights);
  return before ? Versions{with_operand(weights, 1, *before->tensor)} : Versions();
}

constinit const Operation merge_operation = operation_of<Merge>({
    .name = "merge",
    .title = "Merge two partial outputs",
    .says = "Each part of the keys has an output and a log-sum-exp of its own. The log-sum-exp "
            "says how much of all powers of e belongs to the part, and the outputs are mixed by "
            "that. The result is that of all keys at once.",
    .notice = "Each number lies between those of the two parts.",
    .operands = R"(["O_1", "L_1", "O_2", "L_2"])",
    .mistakes = merge_mistakes,
    .backward = merge_backward,
});

}  // namespace qkv::inline ops
