#pragma once

#include "text/prelude.hpp"

namespace qkv::inline ops {

/// All numbers from `low` to `high`: the possible values of a cell whose inputs are known to within
/// a unit of their last digit.
struct Interval {
  double low = 0;
  double high = 0;

  constexpr Interval() = default;
  constexpr Interval(double exact) : low(exact), high(exact) {}  // NOLINT: a number is an interval
  constexpr Interval(double from, double to) : low(from), high(to) {}
};

inline constexpr Interval everything{-std::numeric_limits<double>::infinity(),
                                     std::numeric_limits<double>::infinity()};

inline Interval operator+(Interval a, Interval b) { return {a.low + b.low, a.high + b.high}; }
inline Interval operator-(Interval a, Interval b) { return {a.low - b.high, a.high - b.low}; }

/// Here 0 · ∞ is 0: an exact zero removes its other factor.
inline Interval operator*(Interval a, Interval b) {
  const auto times = [](double x, double y) { return x == 0 || y == 0 ? 0 : x * y; };
  const auto [low, high] = std::minmax(
      {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)});
  return {low, high};
}

/// Returns `everything` if the divisor contains 0.
inline Interval operator/(Interval a, Interval b) {
  if (b.low <= 0 && b.high >= 0) return everything;
  const auto [low, high] =
      std::minmax({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
  return {low, high};
}

/// Returns x · x, which is never below 0 because both factors are one number.
inline Interval squared(Interval x) {
  const auto [low, high] = std::minmax({x.low * x.low, x.high * x.high});
  return {x.low < 0 && x.high > 0 ? 0 : low, high};
}

inline Interval exp(Interval x) { return {std::exp(x.low), std::exp(x.high)}; }
/// Numbers not above 0 have no logarithm: there the range begins at minus infinity.
inline Interval log(Interval x) {
  constexpr double bottom = -std::numeric_limits<double>::infinity();
  return {x.low > 0 ? std::log(x.low) : bottom, x.high > 0 ? std::log(x.high) : bottom};
}
inline Interval tanh(Interval x) { return {std::tanh(x.low), std::tanh(x.high)}; }
inline Interval sqrt(Interval x) { return {std::sqrt(std::max(0.0, x.low)), std::sqrt(x.high)}; }

inline Interval hull(Interval a, Interval b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

inline Interval meet(Interval a, Interval b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

/// An exact decimal number, or unknown. 0.5 · 1.5 is 0.75 without rounding; 1 / 3 is unknown, as is
/// whatever was rounded before. It records the most decimals of all intermediate results. Numbers
/// of more than 18 digits are unknown.
class Decimal {
 public:
  Decimal(double number);  // NOLINT: a number is a decimal, if it has at most 12 decimals

  /// Returns the value of a number that has no last decimal, or was rounded.
  static Decimal unknown();

  bool is_exact() const { return kind_ != Kind::unknown; }
  /// NaN if not exact.
  double value() const;
  /// Returns the most decimals of the number and of its intermediate results.
  int decimals() const { return std::max<int>(places_, most_); }
  /// Returns the number as one that was written down: its intermediate results don't count.
  Decimal written() const {
    Decimal number = *this;
    number.most_ = 0;
    return number;
  }

  friend Decimal operator+(Decimal a, Decimal b);
  friend Decimal operator-(Decimal a, Decimal b);
  friend Decimal operator*(Decimal a, Decimal b);
  friend Decimal operator/(Decimal a, Decimal b);
  friend Decimal exp(Decimal x);   ///< known for 0 and -inf
  friend Decimal log(Decimal x);   ///< known for 1
  friend Decimal sqrt(Decimal x);  ///< known for squares
  friend Decimal tanh(Decimal x);  ///< known for 0, like erf
  friend Decimal erf(Decimal x);
  friend Decimal positive_part(Decimal x);

 private:
  enum class Kind : std::uint8_t { finite, infinite, minus_infinite, unknown };

  Decimal(Kind kind) : kind_(kind) {}
  bool is_finite() const { return kind_ == Kind::finite; }
  // The number digits / 10^places; its intermediate results have at most `most` decimals.
  static Decimal of(std::int64_t digits, int places, int most);
  Decimal made_of(Decimal part) const;  ///< with `part`'s decimals counted

  std::int64_t digits_ = 0;
  std::int8_t places_ = 0;
  std::int8_t most_ = 0;
  Kind kind_ = Kind::finite;
};

/// The cell that a term of the arithmetic reads, and why that one: with other numbers, the largest
/// cell of a line may be another.
struct CellPlace {
  enum class Chosen { by_place, largest_of_row, largest_of_column };
  std::size_t operand = 0;
  std::size_t matrix = 0;
  std::size_t row = 0;
  std::size_t column = 0;
  Chosen chosen = Chosen::by_place;
};

/// The arithmetic of one cell as a tree, to be printed step by step. Built by the template that
/// computes the cell (`N cell(...)` with N = Expression).
class Expression {
 public:
  enum class Kind {
    number,
    cell,
    sum,
    difference,
    product,
    quotient,
    negative,
    root,
    exponential,
    logarithm,
    sine,
    cosine,
    hyperbolic_tangent,
    error_function,
    power,
    maximum
  };

  Expression(double number);  // NOLINT: a number is an expression
  static Expression of_cell(const CellPlace& place, double value);
  static Expression of(Kind kind, const std::vector<Expression>& parts);
  /// Returns a term's value from its parts'. Throws std::logic_error for a number or a cell.
  static double evaluate(Kind kind, std::span<const double> parts);

  Kind kind() const { return kind_; }
  double value() const { return value_; }
  // What follows, not for terms made beside ExpressionDigests:
  const CellPlace& place() const { return node_->place; }  ///< for cells only
  /// Empty for numbers and cells.
  const std::vector<Expression>& parts() const { return node_->parts; }
  std::size_t strides() const { return node_->strides; }  ///< the number of steps to evaluate it
  /// Equal for copies of one term, different for two equal terms.
  const void* identity() const { return node_.get(); }

  /// A term made beside ExpressionDigests has two of them: in a sum of more than two terms its
  /// cells may be distinguished in another way.
  struct Digests {
    std::uint64_t own = 0, in_sum = 0;
  };
  const Digests& digests() const { return digests_; }
  static bool is_long(std::size_t parts) { return parts > 2; }

  friend Expression operator+(const Expression& a, const Expression& b) {
    return {Kind::sum, {&a, &b}};
  }
  friend Expression operator-(const Expression& a, const Expression& b) {
    return {Kind::difference, {&a, &b}};
  }
  friend Expression operator*(const Expression& a, const Expression& b) {
    return {Kind::product, {&a, &b}};
  }
  friend Expression operator/(const Expression& a, const Expression& b) {
    return {Kind::quotient, {&a, &b}};
  }
  friend Expression pow(const Expression& a, const Expression& b) {
    return {Kind::power, {&a, &b}};
  }
  friend Expression exp(const Expression& x) { return {Kind::exponential, {&x}}; }
  friend Expression log(const Expression& x) { return {Kind::logarithm, {&x}}; }
  friend Expression sqrt(const Expression& x) { return {Kind::root, {&x}}; }
  friend Expression sin(const Expression& x) { return {Kind::sine, {&x}}; }
  friend Expression cos(const Expression& x) { return {Kind::cosine, {&x}}; }
  friend Expression tanh(const Expression& x) { return {Kind::hyperbolic_tangent, {&x}}; }
  friend Expression erf(const Expression& x) { return {Kind::error_function, {&x}}; }

 private:
  struct Node {
    std::vector<Expression> parts;
    std::size_t strides = 0;
    CellPlace place = {};
  };
  Expression(Kind kind, double value, const CellPlace& place);
  Expression(Kind kind, std::initializer_list<const Expression*> parts);
  template <class Part>
  Expression(Kind kind, std::size_t count, Part part);

  Kind kind_ = Kind::number;
  double value_ = 0;
  Digests digests_;
  std::shared_ptr<const Node> node_;  ///< a digest has none
};

/// While one exists, terms that are made in its thread have digests instead of parts: equal ones
/// for the same arithmetic, up to what `of_cell` does not distinguish. They take a tenth of the
/// time of a tree. At most one may exist in a thread.
class ExpressionDigests : NotCopied {
 public:
  using Digests = Expression::Digests;

  ExpressionDigests();
  virtual ~ExpressionDigests();

  virtual Digests of_cell(const CellPlace& place) = 0;  ///< called for each cell that is read
  /// Called for each function that rounds differently elsewhere, such as an exponential.
  virtual void on_function(Expression::Kind, std::span<const double> /*arguments*/,
                           double /*value*/) {}

  static std::uint64_t mixed(std::uint64_t digest, std::uint64_t next);
};

}  // namespace qkv::inline ops
