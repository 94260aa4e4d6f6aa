#include <functional>

#include "ops/catalogue.hpp"
#include "ops/kinds/cellwise_back.hpp"
#include "ops/kinds/pairs.hpp"

namespace qkv {
namespace {

struct Subtract {
  static Form form(const Call& call) { return form_of_pairs(call, "{0} − {1}"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    if constexpr (std::is_same_v<N, Interval>) {
      if (is_with_itself(c)) return 0.0;
    }
    return c(0)(c.row, c.column) - beside(c);
  }

  static Tensor compute(const Call& call) { return by_pairs(call, form(call), std::minus<>()); }
};

// C = A − B: dB is −dC.
struct NegativeBack {
  static Form form(const Call& call) { return cellwise_form(call, "−{0}"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    return N(0.0) - c(arriving)(c.row, c.column);
  }
};

constinit const Operation subtract_to_first = gradient_of<Gradient<PassBack>>({
    .title = "Back to what was subtracted from",
    .says = "It changes the difference by as much as it changes itself: the gradient passes.",
    .notice = "The same numbers.",
    .mistakes = cellwise_back_mistakes<PassBack>,
});

constinit const Operation subtract_to_second = gradient_of<Gradient<NegativeBack>>({
    .title = "Back to what was subtracted",
    .says =
        "The more is subtracted, the less is left: the gradient comes back with the other sign.",
    .notice = "Every sign is turned.",
    .mistakes = cellwise_back_mistakes<NegativeBack>,
});

WayBack back_through_subtract(const Use& use) {
  return {use.operand == 0 ? &subtract_to_first : &subtract_to_second};
}

}  // namespace

constinit const Operation subtract_operation = operation_of<Subtract>({
    .name = "subtract",
    .title = "Subtract, cell by cell",
    .says = "From each cell of the first matrix the cell in the same place of the second is taken. "
            "One row, one column or one number repeats.",
    .notice = "Where the two are equal, 0 is left.",
    .operands = R"(["A", "B"])",
    .fewest = 2,
    .most = 2,
    .way_back = back_through_subtract,
});

}  // namespace qkv
