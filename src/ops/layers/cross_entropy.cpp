#include "ops/attention/softmax.hpp"
#include "ops/kinds/gradient.hpp"

namespace qkv::inline ops {
namespace {

/// How the rows' losses are reduced: "mean", "sum" or "none".
std::string_view reduction_of(const Call& call) { return call.options->word("reduction", "mean"); }

/// True if the targets, the second operand, are ids, not shares: a vector, one vector a sentence,
/// or one column.
bool are_ids(const Call& call) {
  const Tensor& logits = *call.inputs[0];
  const Tensor& targets = *call.inputs[1];
  if (targets.rank() == 1) return true;
  const bool is_one_a_sentence = targets.rank() + 1 == logits.rank() &&
                                 targets.rows() == logits.axes[logits.rank() - 3].size &&
                                 targets.columns() == logits.rows();
  return is_one_a_sentence || (targets.columns() == 1 && logits.columns() != 1);
}

bool are_in_a_column(const Call& call) { return call.inputs[1]->rank() >= call.inputs[0]->rank(); }

/// The target of a row; one vector may serve all sentences of a batch.
std::size_t id_of(const CellBase& c, std::size_t row) {
  const Tensor& targets = c.input(1);
  const std::size_t rows = c.input(0).rows();
  const std::size_t first = are_in_a_column(*c.call)        ? c.matrix_index(1) * rows
                            : targets.values.size() == rows ? 0
                                                            : c.matrix_index(0) * rows;
  return static_cast<std::size_t>(targets.values[first + row]);
}

std::string_view axes_of_targets(const Call& call) {
  if (!are_ids(call)) return "token vocabulary";
  if (are_in_a_column(call)) return "token 1";
  return call.inputs[1]->rank() < 2 ? "1 token" : "batch token";
}

Versions scaled(const StepView& step, double factor) {
  return {with_numbers(*step.tensor, step.tensor->array() * factor)};
}

Versions other_sign(const StepView& step) { return scaled(step, -1); }

/// The shares of a row's tokens, if they are given instead of a target.
template <class N>
using Shares = std::optional<Line<N>>;

// A row's largest number and ln Σ e^(x − top). Their sum is ln Σ e^x; kept apart, they preserve the
// last digits of a loss.
struct LogSum {
  double top, rest;
  double whole() const { return top + rest; }
  double loss_at(double x) const { return rest - (x - top); }
};

LogSum log_sum(std::span<const double> logits) {
  const double top = max_of(logits);
  if (std::isinf(top)) return {top, 0};
  double total = 0;
  for (const double x : logits) total += power(x, top);
  return {top, std::log(total)};
}

// A logit whose share is 0 does not count, even if it is hidden.
double loss_beside(const LogSum& all, std::span<const double> logits,
                   std::span<const double> shares) {
  double loss = 0;
  for (std::size_t k = 0; k < logits.size(); ++k) {
    if (shares[k] != 0) loss += shares[k] * all.loss_at(logits[k]);
  }
  return loss;
}

double loss_of(std::span<const double> logits, std::span<const double> shares) {
  return loss_beside(log_sum(logits), logits, shares);
}

// ln Σ e^x of a row without one number.
double log_sum_of_others(std::vector<double> logits, std::size_t own) {
  logits[own] = -infinity;
  return log_sum(logits).whole();
}

// The loss is convex in the logits: coordinate descent ends at its lowest, where softmax is as near
// to the shares as the logits' ranges allow.
double lowest(const std::vector<double>& low, const std::vector<double>& high,
              const std::vector<double>& shares) {
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  std::vector<double> x = low;
  constexpr int rounds = 100;
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t k = 0; k < x.size(); ++k) {
      const double rest = all - shares[k];
      const double best = rest <= 0        ? infinity
                          : shares[k] <= 0 ? -infinity
                                           : std::log(shares[k] / rest) + log_sum_of_others(x, k);
      x[k] = std::clamp(best, low[k], high[k]);
    }
  }
  return loss_of(x, shares);
}

// The highest is at a corner. If there are many corners, returns an upper bound.
double highest(const std::vector<double>& low, const std::vector<double>& high,
               const std::vector<double>& shares) {
  constexpr std::size_t few = 10;
  if (low.size() > few) return loss_beside(log_sum(high), low, shares);
  double most = -infinity;
  std::vector<double> x = low;
  for (std::size_t corner = 0; corner < std::size_t{1} << low.size(); ++corner) {
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = (corner >> k & 1) != 0 ? high[k] : low[k];
    most = std::max(most, loss_of(x, shares));
  }
  return most;
}

// The loss of one row of logits: minus the logarithm of its softmax at the target or, if shares are
// given instead of its id, the mean of that weighted by the shares.
double row_loss(const Line<double>& logits, std::size_t id, const Shares<double>& shares) {
  const std::vector<double> numbers = numbers_of(logits);
  if (!shares) return log_sum(numbers).loss_at(numbers[id]);
  return loss_of(numbers, numbers_of(*shares));
}

// It falls with the target's own logit and rises with every other.
Interval row_loss(const Line<Interval>& logits, std::size_t id, const Shares<Interval>& shares) {
  const std::vector<double> low = bounds_of(logits, false);
  const std::vector<double> high = bounds_of(logits, true);
  if (!shares) {
    const auto corner = [&](std::vector<double> x, double own) {
      x[id] = own;
      return log_sum(x).loss_at(own);
    };
    return {corner(low, high[id]), corner(high, low[id])};
  }
  std::vector<double> least = bounds_of(*shares, false);
  for (double& share : least) share = std::max(0.0, share);
  return {lowest(low, high, least), highest(low, high, bounds_of(*shares, true))};
}

Expression row_loss(const Line<Expression>& logits, std::size_t id,
                    const Shares<Expression>& shares) {
  const Expression top = largest(logits);
  const Expression all =
      log(sum<Expression>(logits.size(), [&](std::size_t k) { return power(logits(k), top); }));
  const auto loss_at = [&](std::size_t k) { return all - (logits(k) - top); };
  if (!shares) return loss_at(id);
  return sum<Expression>(logits.size(), [&](std::size_t k) {
    const Expression share = (*shares)(k);
    return share.value() == 0 ? share : share * loss_at(k);
  });
}

// If all but one are hidden, the loss is 0.
Decimal row_loss(const Line<Decimal>& logits, std::size_t id, const Shares<Decimal>& shares) {
  if (shares) return Decimal::unknown();
  for (std::size_t k = 0; k < logits.size(); ++k) {
    if (k != id && logits(k).value() != -infinity) return Decimal::unknown();
  }
  return logits(id).is_exact() ? Decimal(0.0) : Decimal::unknown();
}

// The code of operand k, the targets' ids, as a column beside the rows of logits.
std::string code_of_ids(const Call& call, std::size_t k) {
  const Tensor& logits = *call.inputs[0];
  const bool is_one = call.inputs[1]->values.size() == logits.rows();
  return fmt::format("{{{}}}.reshape({}{}, 1)", k, is_one ? "" : code_leading(logits),
                     logits.rows());
}

// d logits = (softmax − target) · dL, divided by the number of rows if the loss is their mean.
struct CrossEntropyBackward {
  static constexpr GradientWords words{
      "Back from the loss to the logits",
      "The gradient is the probability that softmax gives, minus 1 at the target. If the loss is "
      "the mean of the rows, this is divided by their number.",
      "Each row sums to 0. Where the gradient is negative, a larger logit would make the loss "
      "smaller."};
  static constexpr Role needs[] = {Role::other};

  static Call forward(const Call& call) { return forward_call(call, {self, saved_other}); }

  static double rows_of(const Call& call) { return static_cast<double>(call.inputs[self]->rows()); }

  static std::string code_of(const Call& call) {
    const Call there = forward(call);
    const std::string target =
        are_ids(there) ? fmt::format("{{np}}.where({} == {{arange {}}}, 1, 0)",
                                     code_of_ids(there, 2), call.inputs[self]->columns())
                       : "{r2}";
    return fmt::format(
        "e = {{np}}.exp({{r1}} - {{r1}}.{{amax}}({{keep}})); {{=}}(e / e.sum({{keep}}) - {}) * "
        "{{r0}}{}",
        target, reduction_of(call) == "mean" ? fmt::format(" / {}", rows_of(call)) : "");
  }

  static Form form(const Call& call) {
    const Call there = forward(call);
    const bool each = reduction_of(call) == "none";
    std::string formula =
        are_ids(there) ? "(softmax({1}) − one_hot({2})) · {0}" : "(softmax({1}) − {2}) · {0}";
    if (reduction_of(call) == "mean") formula += fmt::format(" / {}", rows_of(call));
    return {{each ? "token 1" : "1 1", "token vocabulary", axes_of_targets(there)},
            "token vocabulary",
            std::move(formula)};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Call there = forward(*c.call);
    const N difference =
        softmax_cell(Line<N>{c(self), c.row, false}, c.column) - target_of(c, there);
    const N change = c(grad_output)(reduction_of(*c.call) == "none" ? c.row : 0, 0);
    const N result = difference * change;
    return reduction_of(*c.call) == "mean" ? result / N(rows_of(*c.call)) : result;
  }

  static void fill_row(const Operands& of, std::span<double> cells) {
    const Call there = forward(*of.at().call);
    const bool with_ids = are_ids(there);
    const double by = reduction_of(there) == "mean" ? rows_of(*of.at().call) : 1;
    softmax_of_row(of.row(self), cells, of.is_large());
    const double change = of.row(grad_output)[0];
    const CellBase at{.call = &there, .output = of.at().output, .matrix = of.at().matrix};
    const std::size_t id = with_ids ? id_of(at, of.at().row) : 0;
    for (std::size_t j = 0; j < cells.size(); ++j) {
      const double expected = with_ids ? (j == id ? 1 : 0) : of.row(saved_other)[j];
      cells[j] = (cells[j] - expected) * change / by;
    }
  }

  template <class N>
  static N target_of(const Cell<N>& c, const Call& there) {
    if (!are_ids(there)) return c(saved_other)(c.row, c.column);
    const CellBase at{.call = &there, .output = c.output, .matrix = c.matrix};
    return id_of(at, c.row) == c.column ? 1.0 : 0.0;
  }
};

// The softmax alone, as if there were no target.
Versions no_target(const StepView& step) {
  const Call call = call_of(step);
  const double by = reduction_of(call) == "mean" ? CrossEntropyBackward::rows_of(call) : 1;
  return {by_matrix(step.operand(self), [&](const MatrixView& x) -> Matrix {
    const Matrix powers = xt::exp(x - maxima(x));
    return powers / sums(powers) / by;
  })};
}

// The rows' losses, or gradients, added up where their mean is expected; or the reverse.
template <bool is_mean, std::size_t logits>
Versions reduced_otherwise(const StepView& step) {
  const auto rows = static_cast<double>(step.operand(logits).rows());
  if (reduction_of(call_of(step)) != (is_mean ? "mean" : "sum") || rows < 2) return {};
  return scaled(step, is_mean ? rows : 1 / rows);
}

// The ids as if they were counted from 1: each a column too early (before the first comes the last,
// as in Python), or a column too late. The operand before them holds the logits.
template <std::size_t targets>
Versions moved_ids(const StepView& step) {
  const Tensor& ids = step.operand(targets);
  if (!are_ids({.step = step.name, .inputs = {&step.operand(targets - 1), &ids}})) return {};
  const auto count = static_cast<double>(step.operand(targets - 1).columns());
  return {with_numbers(ids, xt::fmod(ids.array() - 1 + count, count)),
          with_numbers(ids, xt::fmod(ids.array() + 1 + count, count))};
}

constexpr std::string_view targets_from_one_says =
    "The targets were taken one column beside their own: counted from 1 instead of 0.";
constexpr std::string_view targets_from_one_hint = "The first column is that of id 0.";

constexpr Mistake cross_entropy_backward_mistakes[] = {
    {"loss.targets-from-one", targets_from_one_says, targets_from_one_hint,
     Operand{saved_other, moved_ids<saved_other>}},
    {"cross-entropy-backward.sign", "The sign is wrong: target − softmax.",
     "The logit of the target should grow: its gradient is negative.", other_sign},
    {"cross-entropy-backward.no-target", "This is softmax: the target was not subtracted.",
     "Subtract 1 at the target.", no_target},
    {"cross-entropy.sum", "The rows were not averaged: the gradient of a sum.",
     "Divide by the number of rows.", reduced_otherwise<true, self>},
};

constexpr std::string_view reductions[] = {"mean", "sum", "none"};
constexpr OptionRule cross_entropy_options[] = {
    {.name = "reduction",
     .help = "whether the rows' losses are averaged, added up, or left as they are",
     .list = reductions},
};

void check_target_ids(const Call& call) {
  const Tensor& logits = *call.inputs[0];
  const Tensor& targets = *call.inputs[1];
  for (std::size_t i = 0; i < targets.values.size(); ++i) {
    const double id = targets.values[i];
    if (id >= 0 && id < static_cast<double>(logits.columns()) && id == std::trunc(id)) continue;
    refuse(call, fmt::format("number {} of {} is {}; a target is a whole number from 0 to {}, a "
                             "column of {}",
                             i + 1, call.names[1], id, logits.columns() - 1, call.names[0]));
  }
}

// Shares rounded to a digit or two need not sum to 1 exactly.
void check_shares(const Call& call) {
  constexpr double rounding = 0.05;
  const Tensor& shares = *call.inputs[1];
  for (std::size_t m = 0; m < shares.matrices(); ++m) {
    const Matrix totals = sums(shares.matrix(m));
    for (std::size_t i = 0; i < shares.rows(); ++i) {
      if (!(std::abs(totals(i, 0) - 1) > rounding)) continue;
      refuse(call, fmt::format("row {} of {} sums to {:.4g}; the probabilities of a row sum to 1",
                               i + 1, call.names[1], totals(i, 0)));
    }
  }
}

void check_targets(const Call& call) {
  const Tensor& logits = *call.inputs[0];
  if (logits.columns() == 0 || (logits.rows() == 0 && reduction_of(call) == "mean")) {
    refuse(call, operand_text(call, 0) + " has no logits");
  }
  if (!are_ids(call)) return check_shares(call);
  const Tensor& targets = *call.inputs[1];
  const bool is_one_vector = targets.values.size() == logits.rows() || are_in_a_column(call);
  if (!is_one_vector && targets.values.size() != logits.matrices() * logits.rows()) {
    refuse(call, fmt::format("{} must have one target for each row of {}", operand_text(call, 1),
                             operand_text(call, 0)));
  }
  check_target_ids(call);
}

template <class N>
N loss_of(const Cell<N>& c, std::size_t row) {
  const Line<N> logits{c(0), row, false};
  if (are_ids(*c.call)) return row_loss(logits, id_of(c, row), {});
  return row_loss(logits, 0, Line<N>{c(1), row, false});
}

struct CrossEntropy {
  static std::string code_of(const Call& call) {
    const std::string loss = are_ids(call)
                                 ? fmt::format("{{pick}}(z, {}{{int}}, -1)", code_of_ids(call, 1))
                                 : "({r1} * z).sum({keep})";
    const std::string_view reduction = reduction_of(call);
    return fmt::format(
        "z = {{r0}} - {{r0}}.{{amax}}({{keep}}); z = z - {{np}}.log({{np}}.exp(z).sum({{keep}})); "
        "{{=}}-{}{}",
        loss,
        reduction == "none"
            ? ""
            : fmt::format(".{}(-2).reshape({}1, 1)", reduction, code_leading(*call.inputs[0])));
  }

  static Form form(const Call& call) {
    const std::string loss =
        are_ids(call) ? "−ln of softmax({0}) at {1}" : "−{1} · ln of softmax({0})";
    const std::string_view reduction = reduction_of(call);
    const std::string_view words = reduction == "none"  ? ""
                                   : reduction == "sum" ? ", added up"
                                                        : ", the mean of all";
    return {{"token vocabulary", axes_of_targets(call)},
            reduction == "none" ? "token 1" : "1 1",
            loss + std::string(words)};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const std::string_view reduction = reduction_of(*c.call);
    if (reduction == "none") return loss_of(c, c.row);
    const std::size_t rows = c.input(0).rows();
    const N total = sum<N>(rows, [&](std::size_t i) { return loss_of(c, i); });
    return reduction == "sum" ? total : total / N(static_cast<double>(rows));
  }

  static Tensor compute(const Call& call) {
    Tensor result = output_of(call, form(call));
    check_targets(call);
    return cell_by_cell(call, std::move(result), cell<double>);
  }
};

template <const double& log_of_e>
Versions in_base(const StepView& step) {
  return scaled(step, log_of_e);
}

constexpr Mistake cross_entropy_mistakes[] = {
    {"loss.targets-from-one", targets_from_one_says, targets_from_one_hint,
     Operand{1, moved_ids<1>}},
    {"cross-entropy.no-minus", "The minus before the logarithm was left out.",
     "The logarithm of a probability is negative; a loss is not.", other_sign},
    {"cross-entropy.base-2", "The logarithm to base 2 was taken.", "ln, the logarithm to base e.",
     in_base<std::numbers::log2e>},
    {"cross-entropy.base-10", "The logarithm to base 10 was taken.", "ln, the logarithm to base e.",
     in_base<std::numbers::log10e>},
    {"cross-entropy.sum", "The losses of the rows were added up, not averaged.",
     "Divide by the number of rows.", reduced_otherwise<true, 0>},
    {"cross-entropy.sum", "The losses of the rows were averaged, not added up.",
     "The lesson asks for their sum.", reduced_otherwise<false, 0>},
};

}  // namespace

constinit const Operation cross_entropy_operation = operation_of<CrossEntropy>({
    .name = "cross_entropy",
    .title = "Make the loss (cross-entropy)",
    .says = "Softmax makes probabilities from each row of logits. The loss of a row is minus the "
            "logarithm of its target's probability. It is 0 if the probability is 1, and grows as "
            "the probability gets smaller.",
    .notice = "If k possibilities all get the same probability, the loss is ln k.",
    .operands = R"(["logits", "targets"])",
    .options = cross_entropy_options,
    .mistakes = cross_entropy_mistakes,
    .backward = backward_by<WithMistakes<CrossEntropyBackward, cross_entropy_backward_mistakes>,
                            NoGradient>,
});

}  // namespace qkv::inline ops
