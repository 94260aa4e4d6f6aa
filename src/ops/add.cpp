#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "ops/catalogue.hpp"
#include "ops/formula.hpp"
#include "ops/rows.hpp"
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
    Tensor result = output_of(call, form(call));
    const std::size_t rows = result.rows();
    row_by_row(result, 1, [&](std::size_t matrix, std::size_t row, std::span<double> cells) {
      const CellBase at{.call = &call, .output = &result, .matrix = matrix};
      const auto row_of = [&](std::size_t k) {
        const std::size_t first = (at.matching(k) * rows + row) * cells.size();
        return at.input(k).values.part(first, cells.size());
      };
      std::ranges::transform(row_of(0), row_of(1), cells.begin(), std::plus<>());
    });
    return result;
  }
};

std::vector<Tensor> skipped(const Source& step) {
  const Call call = call_of(step);
  const Tensor sum = output_of(call, Add::form(call));
  return {by_operands(call, sum, [](const Operands& of) -> Matrix { return of(0); }),
          by_operands(call, sum, [](const Operands& of) -> Matrix { return of(1); })};
}

constexpr Mistake add_mistakes[] = {
    {"add.skipped", "One of the two was not added.", "Both matrices go into the sum.", skipped},
};

}  // namespace

constinit const Operation add_operation{
    .name = "add",
    .title = "Add, cell by cell",
    .says = "Two matrices of the same size are added, each cell to the cell in the same place.",
    .notice = "Every number comes from just two others.",
    .operands = R"(["A", "B"])",
    .fewest = 2,
    .most = 2,
    .form = Add::form,
    .compute = Add::compute,
    .cell = readings_of<Add>(),
    .mistakes = add_mistakes,
};

}  // namespace qkv
