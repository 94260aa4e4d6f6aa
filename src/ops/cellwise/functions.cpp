// Functions of one number that are no more than that.
#include <cmath>

#include "ops/catalogue.hpp"
#include "ops/cell.hpp"
#include "ops/kinds/gradient.hpp"
#include "ops/numbers/sigmoid.hpp"

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

double squared(double x) { return x * x; }
Interval squared(Interval x) { return square(x); }
Expression squared(const Expression& x) { return x * x; }
Decimal squared(Decimal x) { return x * x; }

// y · (1 − y) of a share y, which is largest in the middle.
template <class N>
N share_slope(const N& y) {
  return y * (N(1.0) - y);
}
Interval share_slope(Interval y) {
  Interval ends = hull(share_slope(y.low), share_slope(y.high));
  if (y.low < 0.5 && 0.5 < y.high) ends = hull(ends, 0.25);
  return ends;
}

struct LogBack {
  static Form form(const Call&) { return {{"row column"}, "row column", "{0} / {1}"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(arriving)(c.row, c.column) / c(own_operand)(c.row, c.column);
  }
};

struct SqrtBack {
  static Form form(const Call&) { return {{"row column"}, "row column", "{0} / (2 · {2})"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(arriving)(c.row, c.column) / (N(2.0) * c(first_need)(c.row, c.column));
  }
};

struct SigmoidBack {
  static Form form(const Call&) { return {{"row column"}, "row column", "{0} ∘ {2} ∘ (1 − {2})"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(arriving)(c.row, c.column) * share_slope(c(first_need)(c.row, c.column));
  }
};

struct TanhBack {
  static Form form(const Call&) { return {{"row column"}, "row column", "{0} ∘ (1 − {2} ∘ {2})"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(arriving)(c.row, c.column) * (N(1.0) - squared(c(first_need)(c.row, c.column)));
  }
};

constinit const Operation log_back = gradient_of<Gradient<LogBack>>({
    .title = "Back through the logarithm",
    .says = "A logarithm climbs the less steeply the larger its number is: the gradient is divided "
            "by the number.",
    .notice = "Small numbers get large gradients.",
});

constinit const Operation sqrt_back = gradient_of<Gradient<SqrtBack>>({
    .title = "Back through the root",
    .says = "A root climbs the less steeply the larger it is: the gradient is divided by twice the "
            "root.",
    .notice = "Small numbers get large gradients.",
});

constinit const Operation sigmoid_back = gradient_of<Gradient<SigmoidBack>>({
    .title = "Back through the sigmoid",
    .says = "The sigmoid climbs most steeply where it is a half, and hardly near 0 and 1: the "
            "gradient is multiplied by the sigmoid and by 1 less the sigmoid.",
    .notice = "No number is further from 0 than a quarter of what arrived.",
});

constinit const Operation tanh_back = gradient_of<Gradient<TanhBack>>({
    .title = "Back through tanh",
    .says = "tanh climbs most steeply at 0, and hardly where it is near 1 or -1: the gradient is "
            "multiplied by 1 less the square of tanh.",
    .notice = "No number is further from 0 than what arrived.",
});

WayBack back_through_log(const Use&) { return {&log_back}; }
WayBack back_through_sqrt(const Use&) { return {&sqrt_back, {WayBack::result}}; }
WayBack back_through_sigmoid(const Use&) { return {&sigmoid_back, {WayBack::result}}; }
WayBack back_through_tanh(const Use&) { return {&tanh_back, {WayBack::result}}; }

}  // namespace

constinit const Operation log_operation = operation_of<Log>({
    .name = "log",
    .title = "Take the natural logarithm of each number",
    .says = "The power to which e ≈ 2.718 must be raised to give the number. Only numbers above 0 "
            "have one: 1 turns into 0, what is less into a negative number.",
    .notice = "Ten times as large is 2.3026 more.",
    .operands = R"(["A"])",
    .undefined = "only numbers above 0 have a logarithm",
    .way_back = back_through_log,
});

constinit const Operation sqrt_operation = operation_of<Sqrt>({
    .name = "sqrt",
    .title = "Take the square root of each number",
    .says = "The number that, multiplied by itself, gives the number. Only numbers from 0 up have "
            "one.",
    .notice = "Four times as large is twice as large here.",
    .operands = R"(["A"])",
    .undefined = "only numbers from 0 up have a square root",
    .way_back = back_through_sqrt,
});

constinit const Operation sigmoid_operation = operation_of<Sigmoid>({
    .name = "sigmoid",
    .title = "Turn each number into a share (sigmoid)",
    .says = "1 / (1 + e^(−x)): large numbers come near to 1, large negative ones near to 0, and 0 "
            "is in the middle.",
    .notice = "A number and its negative make 1 together.",
    .operands = R"(["A"])",
    .way_back = back_through_sigmoid,
});

constinit const Operation tanh_operation = operation_of<Tanh>({
    .name = "tanh",
    .title = "Squeeze each number between -1 and 1 (tanh)",
    .says = "The hyperbolic tangent: near 0 numbers stay nearly as they are, large ones come near "
            "to 1 or -1.",
    .notice = "The sign stays.",
    .operands = R"(["A"])",
    .way_back = back_through_tanh,
});

}  // namespace qkv
