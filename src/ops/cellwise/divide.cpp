#include "ops/catalogue.hpp"
#include "ops/kinds/cellwise_back.hpp"
#include "ops/kinds/pairs.hpp"

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

// C = A / B: dA = dC / B, dB = −dC ∘ C / B.
struct ToNumerator {
  static Form form(const Call& call) { return cellwise_form(call, "{0} / {2}"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(arriving)(c.row, c.column) / repeated(c(first_need), c);
  }
};

struct ToDivisor {
  static Form form(const Call& call) { return cellwise_form(call, "−{0} ∘ {2} / {1}"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    return N(0.0) - c(arriving)(c.row, c.column) * c(first_need)(c.row, c.column) /
                        repeated(c(own_operand), c);
  }
};

constinit const Operation divide_to_numerator = gradient_of<Gradient<ToNumerator>>({
    .title = "Back to what was divided",
    .says = "What is divided by a number changes the quotient by so much less: the gradient is "
            "divided, too.",
    .notice = "Divided by the same numbers.",
    .mistakes = cellwise_back_mistakes<ToNumerator>,
});

constinit const Operation divide_to_divisor = gradient_of<Gradient<ToDivisor>>({
    .title = "Back to what it was divided by",
    .says = "A larger divisor makes the quotient smaller: the gradient is multiplied by the "
            "quotient, divided by the divisor, and gets the other sign.",
    .notice = "The larger the divisor, the less a change of it counts.",
    .mistakes = cellwise_back_mistakes<ToDivisor>,
});

WayBack back_through_divide(const Use& use) {
  if (use.operand == 0) return {&divide_to_numerator, {1}};
  return {&divide_to_divisor, {WayBack::result}};
}

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
    .way_back = back_through_divide,
});

}  // namespace qkv
