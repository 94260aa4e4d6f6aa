#include <algorithm>

#include "ops/catalogue.hpp"
#include "ops/cell.hpp"
#include "ops/kinds/gradient.hpp"

namespace qkv {
namespace {

double positive_part(double x) { return x <= 0 ? 0.0 : x; }  // what is no number stays none
Interval positive_part(Interval x) { return {std::max(0.0, x.low), std::max(0.0, x.high)}; }
Expression positive_part(const Expression& x) {
  return Expression::of(Expression::Kind::maximum, {0.0, x});
}

struct Relu {
  static Form form(const Call&) { return {{"row column"}, "row column", "max(0, {0})"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return positive_part(c(0)(c.row, c.column));
  }
};

// dX is dY where x was above 0.
struct ReluBack {
  static Form form(const Call&) { return {{"row column"}, "row column", "{0}, 0 where {1} ≤ 0"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    const N change = c(arriving)(c.row, c.column);
    if constexpr (std::is_same_v<N, Interval>) {
      const Interval x = c(own_operand)(c.row, c.column);
      return x.low > 0 ? change : x.high <= 0 ? Interval(0.0) : hull(0.0, change);
    } else if constexpr (std::is_same_v<N, Decimal>) {
      const Decimal x = c(own_operand)(c.row, c.column);
      if (!x.is_exact()) return x;
      return x.value() > 0 ? change : Decimal(0.0);
    } else {
      const double x = c.input(own_operand).at(c.matching(own_operand), c.row, c.column);
      return std::isnan(x) ? N(x) : x > 0 ? change : N(0.0);
    }
  }
};

constinit const Operation relu_back = gradient_of<Gradient<ReluBack>>({
    .title = "Back through ReLU",
    .says = "Where the number was kept, its gradient passes; where it became 0, nothing does.",
    .notice = "A neuron that is off for every token learns nothing.",
});

WayBack back_through_relu(const Use&) { return {&relu_back}; }

}  // namespace

constinit const Operation relu_operation = operation_of<Relu>({
    .name = "relu",
    .title = "Keep what is positive (ReLU)",
    .says = "Negative numbers become 0, the others stay as they are.",
    .notice = "How many numbers are left?",
    .operands = R"(["H"])",
    .way_back = back_through_relu,
});

}  // namespace qkv
