#include <fmt/format.h>

#include <cmath>

#include "ops/attention/score.hpp"
#include "ops/catalogue.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/kinds/gradient.hpp"
#include "ops/result.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

constexpr OptionRule softcap_options[] = {
    {.name = "cap",
     .says = "what no score goes beyond, on either side of 0",
     .numbers = OptionRule::Numbers::positive,
     .required = true},
};

double cap_of(const Call& call) { return call.options->number("cap", 1); }

double capped(double x, double cap) { return cap * std::tanh(x / cap); }

struct Softcap {
  static Form form(const Call& call) {
    const std::string cap = fmt::format("{}", cap_of(call));
    return {{"row column"}, "row column", fmt::format("{} · tanh({{0}} / {})", cap, cap)};
  }

  // Gemma 2 (2024), section 2: logits soft-capping.
  template <class N>
  static N cell(const Cell<N>& c) {
    const double cap = cap_of(*c.call);
    const N x = c(0)(c.row, c.column);
    if constexpr (std::is_same_v<N, Interval>) {  // it rises
      return {capped(x.low, cap), capped(x.high, cap)};
    } else {
      using std::tanh;
      return N(cap) * tanh(x / N(cap));
    }
  }

  static Tensor frame(const Call& call) {
    Tensor result = frame_of(call, form(call));
    result.dot_width = call.inputs[0]->dot_width;
    return result;
  }

  static std::optional<InPlace> in_place(const Call& call) {
    const auto work = [cap = cap_of(call)](const RowPart& row) {
      for (double& cell : row.cells) cell = capped(cell, cap);
    };
    return InPlace{frame(call), work, true};
  }

  static Tensor compute(const Call& call) {
    const double cap = cap_of(call);
    return with_numbers(frame(call), cap * xt::tanh(call.inputs[0]->array() / cap));
  }
};

std::vector<Tensor> skipped(const Source& step) { return {step.operand()}; }

std::vector<Tensor> clipped(const Source& step) {
  const double cap = cap_of(call_of(step));
  return {with_numbers(step.operand(), xt::clip(step.operand().array(), -cap, cap))};
}

// Scores that a later mask hides, hidden too early: then minus infinity becomes −cap.
std::vector<Tensor> after_mask(const Source& step) {
  std::vector<Tensor> results;
  const double cap = cap_of(call_of(step));
  for (const Source& later : step.all) {
    if (later.operation != &mask_operation || behind(&later, softcap_operation) != &step) continue;
    if (!later.tensor || later.tensor->shape() != step.tensor->shape()) continue;
    const Tensor right = Softcap::compute(call_of(step));
    results.push_back(
        with_numbers(right, xt::where(xt::isinf(later.tensor->array()), -cap, right.array())));
  }
  return results;
}

constexpr Mistake softcap_mistakes[] = {
    {"softcap.skipped", "The scores were not capped.", "cap · tanh(score / cap).", skipped},
    {"softcap.clipped", "The scores were cut off at the cap.",
     "tanh bends them towards the cap, all of them a little.", clipped},
    {"softcap.after-mask", "The mask came first, so -cap stands where -inf is due.",
     "First cap, then hide.", after_mask},
};

// dX = dY ∘ (1 − (Y / cap)²).
struct SoftcapBack {
  static Form form(const Call& call) {
    return {{"row column"}, "row column", fmt::format("{{0}} ∘ (1 − ({{2}} / {})²)", cap_of(call))};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const N share = c(first_need)(c.row, c.column) / N(cap_of(*c.call));
    if constexpr (std::is_same_v<N, Interval>) {
      return c(arriving)(c.row, c.column) * (N(1.0) - square(share));
    } else {
      return c(arriving)(c.row, c.column) * (N(1.0) - share * share);
    }
  }
};

constinit const Operation softcap_back = gradient_of<Gradient<SoftcapBack>>({
    .title = "Back through the cap",
    .says =
        "Near 0 a score passes nearly as it is, and so does its gradient; the nearer it came to "
        "the cap, the less of its gradient is left.",
    .notice = "No number is further from 0 than what arrived.",
});

WayBack back_through_softcap(const Use&) { return {&softcap_back, {WayBack::result}}; }

}  // namespace

constinit const Operation softcap_operation = operation_of<Softcap>({
    .name = "softcap",
    .title = "Keep the scores below a cap",
    .says = "Large scores are bent towards a cap that none goes beyond, so that no key gets nearly "
            "all of the weight. Small ones stay nearly as they are.",
    .notice = "Signs and order stay; the larger a score, the more it loses.",
    .operands = R"(["scores"])",
    .options = softcap_options,
    .mistakes = softcap_mistakes,
    .way_back = back_through_softcap,
});

}  // namespace qkv
