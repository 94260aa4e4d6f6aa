// Functions of one number that are no more than that.
#include <cmath>

#include "ops/catalogue.hpp"
#include "ops/cell.hpp"
#include "ops/sigmoid.hpp"

namespace qkv {
namespace {

// Where there is no logarithm or root there is no number.
double logarithm(double x) { return x > 0 ? std::log(x) : std::nan(""); }
Interval logarithm(Interval x) { return x.high > 0 ? log(x) : everything; }
Expression logarithm(const Expression& x) { return log(x); }
Decimal logarithm(Decimal x) { return log(x); }

double root(double x) { return std::sqrt(x); }
Interval root(Interval x) { return x.high >= 0 ? sqrt(x) : everything; }
Expression root(const Expression& x) { return sqrt(x); }
Decimal root(Decimal x) { return sqrt(x); }

struct Log {
  static Form form(const Call&) { return {{"row column"}, "row column", "ln {0}"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return logarithm(c(0)(c.row, c.column));
  }
};

struct Sqrt {
  static Form form(const Call&) { return {{"row column"}, "row column", "√{0}"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return root(c(0)(c.row, c.column));
  }
};

struct Sigmoid {
  static Form form(const Call&) { return {{"row column"}, "row column", "1 / (1 + e^(−{0}))"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return sigmoid(c(0)(c.row, c.column));
  }
};

struct Tanh {
  static Form form(const Call&) { return {{"row column"}, "row column", "tanh {0}"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    using std::tanh;
    return tanh(c(0)(c.row, c.column));
  }
};

}  // namespace

constinit const Operation log_operation = operation_of<Log>({
    .name = "log",
    .title = "Take the natural logarithm of each number",
    .says = "The power to which e ≈ 2.718 must be raised to give the number. Only numbers above 0 "
            "have one: 1 turns into 0, what is less into a negative number.",
    .notice = "Ten times as large is 2.3026 more.",
    .operands = R"(["A"])",
    .undefined = "only numbers above 0 have a logarithm",
});

constinit const Operation sqrt_operation = operation_of<Sqrt>({
    .name = "sqrt",
    .title = "Take the square root of each number",
    .says = "The number that, multiplied by itself, gives the number. Only numbers from 0 up have "
            "one.",
    .notice = "Four times as large is twice as large here.",
    .operands = R"(["A"])",
    .undefined = "only numbers from 0 up have a square root",
});

constinit const Operation sigmoid_operation = operation_of<Sigmoid>({
    .name = "sigmoid",
    .title = "Turn each number into a share (sigmoid)",
    .says = "1 / (1 + e^(−x)): large numbers come near to 1, large negative ones near to 0, and 0 "
            "is in the middle.",
    .notice = "A number and its negative make 1 together.",
    .operands = R"(["A"])",
});

constinit const Operation tanh_operation = operation_of<Tanh>({
    .name = "tanh",
    .title = "Squeeze each number between -1 and 1 (tanh)",
    .says = "The hyperbolic tangent: near 0 numbers stay nearly as they are, large ones come near "
            "to 1 or -1.",
    .notice = "The sign stays.",
    .operands = R"(["A"])",
});

}  // namespace qkv
