#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "ops/catalogue.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/layers/cross_entropy.hpp"
#include "ops/layers/cross_entropy_back.hpp"
#include "ops/layers/row_loss.hpp"
#include "ops/result.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

constexpr std::string_view reductions[] = {"mean", "sum", "none"};
constexpr OptionRule cross_entropy_options[] = {
    {.name = "reduction",
     .says = "whether the rows' losses are averaged, added up, or left as they are",
     .list = reductions},
};

void check_ids(const Call& call) {
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

// What was rounded to a digit or two need not sum to 1 exactly.
void check_shares(const Call& call) {
  constexpr double rounding = 0.05;
  const Tensor& shares = *call.inputs[1];
  for (std::size_t m = 0; m < shares.matrices(); ++m) {
    const Matrix totals = sums(shares.matrix(m));
    for (std::size_t i = 0; i < shares.rows(); ++i) {
      if (!(std::abs(totals(i, 0) - 1) > rounding)) continue;
      refuse(call, fmt::format("row {} of {} sums to {:.4g}; the shares of a row sum to 1", i + 1,
                               call.names[1], totals(i, 0)));
    }
  }
}

void check_operands(const Call& call) {
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
  check_ids(call);
}

// The loss of a row.
template <class N>
N loss_of(const Cell<N>& c, std::size_t row) {
  RowLoss<N> loss{.logits = c(0), .row = row};
  if (are_ids(*c.call)) {
    loss.id = id_of(c, row);
    return loss.value();
  }
  const MatrixOf<N> shares = c(1);
  loss.shares = &shares;
  return loss.value();
}

struct CrossEntropy {
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
    check_operands(call);
    return cell_by_cell(call, std::move(result), cell<double>);
  }
};

std::vector<Tensor> no_minus(const Source& step) { return scaled(step, -1); }
std::vector<Tensor> base_2(const Source& step) { return scaled(step, std::numbers::log2e); }

std::vector<Tensor> added_up(const Source& step) {
  const auto rows = static_cast<double>(step.operand().rows());
  const bool is_mean = reduction_of(call_of(step)) == "mean";
  return is_mean && rows > 1 ? scaled(step, rows) : std::vector<Tensor>();
}

std::vector<Tensor> averaged(const Source& step) {
  const auto rows = static_cast<double>(step.operand().rows());
  const bool is_sum = reduction_of(call_of(step)) == "sum";
  return is_sum && rows > 1 ? scaled(step, 1 / rows) : std::vector<Tensor>();
}

constexpr Mistake cross_entropy_mistakes[] = {
    {"cross-entropy.no-minus", "The minus before the logarithm was left out.",
     "The logarithm of a share is negative; a loss is not.", no_minus},
    {"cross-entropy.base-2", "The logarithm to base 2 was taken.", "ln, the logarithm to base e.",
     base_2},
    {"cross-entropy.sum", "The losses of the rows were added up, not averaged.",
     "Divide by the number of rows.", added_up},
    {"cross-entropy.sum", "The losses of the rows were averaged, not added up.",
     "The lesson asks for their sum.", averaged},
};

}  // namespace

constinit const Operation cross_entropy_operation = operation_of<CrossEntropy>({
    .name = "cross_entropy",
    .title = "How far off the prediction is (cross-entropy)",
    .says = "Softmax turns each row of logits into probabilities. The loss of a row is minus the "
            "logarithm of the one that its target got: 0 where that is 1, and it grows as that "
            "gets smaller.",
    .notice = "If all of k possibilities get the same probability, the loss is ln k.",
    .operands = R"(["logits", "targets"])",
    .fewest = 2,
    .most = 2,
    .options = cross_entropy_options,
    .mistakes = cross_entropy_mistakes,
    .way_back = back_through_loss,
});

}  // namespace qkv
