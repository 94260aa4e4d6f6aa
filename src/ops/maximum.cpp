#include "ops/catalogue.hpp"
#include "ops/larger.hpp"
#include "ops/pairs.hpp"

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
});

}  // namespace qkv
