#include "ops/catalogue.hpp"
#include "ops/line.hpp"
#include "ops/score_chain.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

// A row of zeros has nothing to share out and stays as it is. Of a sum that is too large for a
// double nobody knows the share.
double share(double x, double total) {
  if (std::isinf(total)) return std::nan("");
  return total == 0 && x == 0 ? 0 : x / total;
}

struct Normalise {
  static Form form(const Call& call) {
    const bool down = goes_down(call);
    return {{"row column"},
            "row column",
            down ? "{0} / the sum of each column" : "{0} / the sum of each row",
            down ? "{0} / the sum of each row" : "{0} / the sum of each column"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const Line<N> line = line_of(c);
    const std::size_t i = place_in_line(c);
    if constexpr (std::is_same_v<N, Interval>) {
      Interval rest = 0.0;
      for (std::size_t j = 0; j < line.size(); ++j) {
        if (j != i) rest = rest + line(j);
      }
      return corners(line(i), rest);
    } else {
      const N total = sum<N>(line.size(), [&](std::size_t j) { return line(j); });
      if constexpr (std::is_same_v<N, double>) {
        return share(line(i), total);
      } else {
        if (total.value() == 0 && line(i).value() == 0) return line(i);  // as share() has it
        return line(i) / total;
      }
    }
  }

  // x / (x + rest) is monotone in x and in the rest as long as the sum is not 0: four corners.
  static Interval corners(Interval own, Interval rest) {
    const Interval total = own + rest;
    if (total.low == 0 && total.high == 0) return own.low == 0 && own.high == 0 ? own : everything;
    if (total.low <= 0 && total.high >= 0) return everything;
    const auto [low, high] =
        std::minmax({own.low / (own.low + rest.low), own.low / (own.low + rest.high),
                     own.high / (own.high + rest.low), own.high / (own.high + rest.high)});
    return {low, high};
  }

  static void bounds(const LineBounds& line) {
    const std::vector<double> low = sums_of_others(line.low);
    const std::vector<double> high = sums_of_others(line.high);
    for (std::size_t i = 0; i < low.size(); ++i) {
      const Interval part = corners({line.low[i], line.high[i]}, {low[i], high[i]});
      line.result_low[i] = part.low;
      line.result_high[i] = part.high;
    }
  }

  static void normalise_line(std::span<const double> from, std::span<double> to) {
    double total = 0;
    for (const double x : from) total += x;
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = share(from[i], total);
  }

  static Tensor compute(const Call& call) {
    return line_by_line(call, output_of(call, form(call)), normalise_line);
  }

  static std::optional<Range> range(const Call& call, std::span<const Bounds> operands,
                                    const Tensor& result) {
    return range_by_line(call, operands[0], result, bounds);
  }
};

Tensor shares(const Source& step, const Tensor& positive) {
  Call call = call_of(step);
  call.inputs = {&positive};
  return Normalise::compute(call);
}

std::vector<Tensor> whole(const Source& step) { return {shares_of_whole(*step.inputs[0]->tensor)}; }

std::vector<Tensor> not_normalised(const Source& step) { return {*step.inputs[0]->tensor}; }

std::vector<Tensor> no_exp(const Source& step) {
  const Source* raised = behind(step.inputs[0], exp_operation);
  if (!raised) return {};
  return {shares(step, without_infinities(*raised->inputs[0]->tensor))};
}

std::vector<Tensor> base_2(const Source& step) {
  const Source* raised = behind(step.inputs[0], exp_operation);
  if (!raised) return {};
  Tensor powers = *raised->inputs[0]->tensor;
  for (double& x : powers.values) x = std::exp2(x);
  return {shares(step, powers)};
}

constexpr Mistake normalise_mistakes[] = {
    {"softmax.columns", "The sums were taken along the wrong axis.",
     "The weights of one query sum to 1.", along_other_axis},
    {"softmax.whole", "Everything was divided by the sum of the whole matrix.",
     "Every query has its own sum to divide by.", whole},
    {"softmax.not-normalised", "Nothing was divided by its sum.",
     "The weights of one query sum to 1.", not_normalised},
    {"softmax.no-exp", "The scores were divided by their plain sum, without e^x.",
     "First e to the power of each score, then divide.", no_exp},
    {"softmax.base-2", "2 was raised to the scores instead of e.", "e ≈ 2.718.", base_2},
    {"softmax.unscaled", "The scores went in before they were scaled.",
     "Softmax takes the scaled scores.", unscaled},
    {"softmax.unmasked", "The mask was ignored.", "Hidden keys get weight 0.", unmasked},
    {"softmax.mask-after",
     "Weights were set to 0 after the sum was taken, so the rows no longer sum to 1.",
     "Hide first, then divide.", hidden_afterwards},
};

}  // namespace

constinit const Operation normalise_operation{
    .name = "normalise",
    .title = "Divide each row by its sum",
    .says = "Every number is divided by the sum of its row, so that each row becomes shares of 1.",
    .notice = "Each row sums to 1.",
    .operands = R"(["exps"])",
    .options = line_options,
    .form = Normalise::form,
    .compute = Normalise::compute,
    .cell = readings_of<Normalise>(),
    .range = Normalise::range,
    .makes_weights = true,
    .mistakes = normalise_mistakes,
};

}  // namespace qkv
