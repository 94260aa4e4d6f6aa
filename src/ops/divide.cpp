#include "ops/catalogue.hpp"
#include "ops/pairs.hpp"

namespace qkv {
namespace {

// Nothing can be divided by 0.
double quotient(double a, double b) { return b == 0 ? std::nan("") : a / b; }

struct Divide {
  static Form form(const Call& call) { return form_of_pairs(call, "{0} / {1}, cell by cell"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    const N a = c(0)(c.row, c.column);
    const N b = beside(c);
    if constexpr (std::is_same_v<N, double>) {
      return quotient(a, b);
    } else if constexpr (std::is_same_v<N, Interval>) {
      const bool is_one = is_with_itself(c) && (b.low > 0 || b.high < 0);
      return is_one ? Interval(1.0) : a / b;
    } else {
      return a / b;
    }
  }

  static Tensor compute(const Call& call) { return by_pairs(call, form(call), quotient); }
};

}  // namespace

constinit const Operation divide_operation = operation_of<Divide>({
    .name = "divide",
    .title = "Divide, cell by cell",
    .says = "Each cell of the first matrix is divided by the cell in the same place of the second. "
            "One row, one column or one number repeats.",
    .notice = "Divided by less than 1, a number grows.",
    .operands = R"(["A", "B"])",
    .fewest = 2,
    .most = 2,
    .undefined = "a number was divided by 0; look for zeros in the second operand",
});

}  // namespace qkv
