#include <functional>

#include "ops/catalogue.hpp"
#include "ops/pairs.hpp"

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
});

}  // namespace qkv
