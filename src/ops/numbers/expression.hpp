#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

namespace qkv::inline ops {

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
  const CellPlace& place() const { return place_; }  ///< for cells only
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
  };
  using Parts = std::span<const Expression* const>;
  Expression(Kind kind, double value, const CellPlace& place);
  Expression(Kind kind, Parts parts);
  Expression(Kind kind, std::initializer_list<const Expression*> parts)
      : Expression(kind, Parts(parts.begin(), parts.size())) {}

  Kind kind_ = Kind::number;
  double value_ = 0;
  Digests digests_;
  CellPlace place_ = {};
  std::shared_ptr<const Node> node_;
};

/// While one exists, terms that are made in its thread have digests instead of parts: equal ones
/// for the same arithmetic, up to what `of_cell` does not distinguish. They take a tenth of the
/// time of a tree. At most one may exist in a thread.
class ExpressionDigests {
 public:
  using Digests = Expression::Digests;

  ExpressionDigests();
  virtual ~ExpressionDigests();
  ExpressionDigests(const ExpressionDigests&) = delete;
  ExpressionDigests& operator=(const ExpressionDigests&) = delete;

  virtual Digests of_cell(const CellPlace& place) = 0;  ///< called for each cell that is read
  /// Called for each function that rounds differently elsewhere, such as an exponential.
  virtual void on_function(Expression::Kind, std::span<const double> /*arguments*/,
                           double /*value*/) {}

  static std::uint64_t mixed(std::uint64_t digest, std::uint64_t next);
};

}  // namespace qkv::inline ops
