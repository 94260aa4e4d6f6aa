#include "ops/catalogue.hpp"
#include "ops/kinds/cellwise_back.hpp"
#include "ops/kinds/largest_back.hpp"
#include "ops/kinds/pairs.hpp"
#include "ops/numbers/larger.hpp"

namespace qkv {
namespace {

struct Maximum {
  static Form form(const Call& call) { return form_of_pairs(call, "max({0}, {1}), cell by cell"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    return largest_of<N>(2,
                         [&](std::size_t k) { return k == 0 ? c(0)(c.row, c.column) : beside(c); });
  }

  static Tensor compute(const Call& call) {
    return by_pairs(call, form(call), [](double a, double b) { return larger(a, b); });
  }
};

// The larger one gets the gradient; of two equal ones each gets half.
struct MaximumBack {
  static Form form(const Call& call) { return cellwise_form(call, "{0}, where {1} > {2}"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    const N change = c(arriving)(c.row, c.column);
    const N own = repeated(c(own_operand), c);
    const N other = repeated(c(first_need), c);
    return change_of_larger(change, own, other);
  }
};

constinit const Operation maximum_back = gradient_of<Gradient<MaximumBack>>({
    .title = "Back to the larger of two",
    .says = "Only the larger of the two is seen in the result: it gets the gradient, and the other "
            "gets 0. Two that are equal share it.",
    .notice = "A cell that was not the larger one learns nothing.",
    .mistakes = cellwise_back_mistakes<MaximumBack>,
});

WayBack back_through_maximum(const Use& use) { return {&maximum_back, {1 - use.operand}}; }

}  // namespace

constinit const Operation maximum_operation = operation_of<Maximum>({
    .name = "maximum",
    .title = "Take the larger of two, cell by cell",
    .says = "Of the two cells in the same place the larger one stays. One row, one column or one "
            "number repeats: beside 0 it is ReLU.",
    .notice = "No cell is below either of its two.",
    .operands = R"(["A", "B"])",
    .fewest = 2,
    .most = 2,
    .way_back = back_through_maximum,
});

}  // namespace qkv
