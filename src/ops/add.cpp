#include <algorithm>
#include <functional>

#include "ops/catalogue.hpp"
#include "ops/formula.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

struct Add {
  static Form form(const Call&) { return {{"row column"}, "row column", "{0} + {1}"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(0)(c.row, c.column) + c(1)(c.row, c.column);
  }

  static Tensor compute(const Call& call) {
    return by_rows(call, output_of(call, form(call)), 1,
                   [](const Operands& of, std::span<double> cells) {
                     std::ranges::transform(of.row(0), of.row(1), cells.begin(), std::plus<>());
                   });
  }
};

std::vector<Tensor> skipped(const Source& step) {
  const Call call = call_of(step);
  const Form sum = Add::form(call);
  return {by_operands(call, sum, [](const Operands& of) -> Matrix { return of(0); }),
          by_operands(call, sum, [](const Operands& of) -> Matrix { return of(1); })};
}

constexpr Mistake add_mistakes[] = {
    {"add.skipped", "One of the two was not added.", "Both matrices go into the sum.", skipped},
};

}  // namespace

constinit const Operation add_operation = operation_of<Add>({
    .name = "add",
    .title = "Add, cell by cell",
    .says = "Two matrices of the same size are added, each cell to the cell in the same place.",
    .notice = "Every number comes from just two others.",
    .operands = R"(["A", "B"])",
    .fewest = 2,
    .most = 2,
    .mistakes = add_mistakes,
});

}  // namespace qkv
