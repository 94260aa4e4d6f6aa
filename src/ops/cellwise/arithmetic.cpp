#include <functional>

#include "ops/catalogue.hpp"
#include "ops/kinds/cellwise_back.hpp"
#include "ops/kinds/pairs.hpp"

namespace qkv {
namespace {

struct Add {
  static Form form(const Call& call) { return form_of_pairs(call, "{0} + {1}"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(0)(c.row, c.column) + beside(c);
  }

  static Tensor compute(const Call& call) { return by_pairs(call, form(call), std::plus<>()); }
};

std::vector<Tensor> skipped(const Source& step) {
  const Call call = call_of(step);
  const Form sum = Add::form(call);
  return {by_pairs(call, sum, [](double a, double) { return a; }),
          by_pairs(call, sum, [](double, double b) { return b; })};
}

constexpr Mistake add_mistakes[] = {
    {"add.skipped", "One of the two was not added.", "Both matrices go into the sum.", skipped},
};

constinit const Operation add_back = gradient_of<Gradient<PassBack>>({
    .title = "Back through a sum",
    .says =
        "What was added changes the sum by as much as it changes itself: the gradient passes as "
        "it is. Where one row stood for many, theirs are added up.",
    .notice = "A residual is a road on which no gradient gets lost.",
    .mistakes = cellwise_back_mistakes<PassBack>,
});

WayBack back_through_add(const Use&) { return {&add_back}; }

}  // namespace

constinit const Operation add_operation = operation_of<Add>({
    .name = "add",
    .title = "Add, cell by cell",
    .says = "Two matrices of the same size are added, each cell to the cell in the same place. One "
            "row, one column or one number repeats.",
    .notice = "Every number comes from just two others.",
    .operands = R"(["A", "B"])",
    .fewest = 2,
    .most = 2,
    .mistakes = add_mistakes,
    .way_back = back_through_add,
});

}  // namespace qkv
