#include "ops/attention/mask_back.hpp"

#include <algorithm>

#include "ops/attention/mask_mistakes.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/kinds/gradient.hpp"

namespace qkv {
namespace {

// What was hidden sends nothing back. The masked scores tell what was, whatever the kind.
struct MaskBack {
  static Form form(const Call&) {
    return {{"query key", "query key", "query key"}, "query key", "{0}, 0 where {2} is -inf"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const bool hidden =
        c.input(first_need).at(c.matching(first_need), c.row, c.column) == -infinity;
    return hidden ? N(0.0) : c(arriving)(c.row, c.column);
  }

  static Tensor compute(const Call& call, Tensor whole) {
    return by_rows(call, std::move(whole), 2, [&](const Operands& of, std::span<double> cells) {
      thread_local Scratch changes, scores;
      std::ranges::transform(of.row(arriving, changes), of.row(first_need, scores), cells.begin(),
                             unless_hidden);
    });
  }

  static std::optional<InPlace> in_place(const Call& call) {
    const Tensor& masked = *call.inputs[first_need];
    const Tensor& own = *call.inputs[own_operand];
    if (own.shape() != masked.shape() || call.inputs[arriving]->shape() != masked.shape())
      return {};
    const auto work = [scores = masked.values, rows = masked.rows(),
                       columns = masked.columns()](const RowPart& row) {
      thread_local Scratch scratch;
      const auto line = scores.read((row.matrix * rows + row.row) * columns, columns, scratch);
      std::ranges::transform(row.cells, line.subspan(row.first), row.cells.begin(), unless_hidden);
    };
    return InPlace{{.axes = own.axes, .values = {}}, work, true};
  }

  static double unless_hidden(double change, double score) {
    return score == -infinity ? 0 : change;
  }
};

std::vector<Tensor> unmasked_gradient(const Source& step) { return {step.operand()}; }

constexpr Mistake mask_back_mistakes[] = {
    {"mask.skipped", "The gradient went back to what was hidden, too.",
     "A hidden score has no part in the loss: its gradient is 0.", unmasked_gradient, of_hiding},
};

constinit const Operation mask_back = gradient_of<Gradient<MaskBack>>({
    .title = "Back through the mask",
    .says = "A score that was hidden has no part in what came after: its gradient is 0. The others "
            "pass as they are.",
    .notice = "The zeros stand where the mask was.",
    .mistakes = mask_back_mistakes,
    .in_place = MaskBack::in_place,
});

}  // namespace

WayBack back_through_mask(const Use& use) {
  if (use.operand == 1) return {};  // what is hidden is no number of the loss
  return {&mask_back, {WayBack::result}};
}

}  // namespace qkv
