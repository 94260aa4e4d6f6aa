#include <algorithm>

#include "ops/catalogue.hpp"
#include "ops/cell.hpp"

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

}  // namespace

constinit const Operation relu_operation = operation_of<Relu>({
    .name = "relu",
    .title = "Keep what is positive (ReLU)",
    .says = "Negative numbers become 0, the others stay as they are.",
    .notice = "How many numbers are left?",
    .operands = R"(["H"])",
});

}  // namespace qkv
