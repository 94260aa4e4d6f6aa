#pragma once

#include <cstddef>
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
  static Expression of_cell(CellPlace place, double value);
  static Expression of(Kind kind, std::vector<Expression> parts);
  /// Returns a term's value from its parts'. Throws std::logic_error for a number or a cell.
  static double evaluate(Kind kind, std::span<const double> parts);

  Kind kind() const { return node_->kind; }
  double value() const { return node_->value; }
  const CellPlace& place() const { return node_->place; }  ///< for cells only
  /// Empty for numbers and cells.
  const std::vector<Expression>& parts() const { return node_->parts; }
  std::size_t strides() const { return node_->strides; }  ///< the number of steps to evaluate it
  /// Equal for copies of one term, different for two equal terms. `is_shared`: copies exist.
  const void* identity() const { return node_.get(); }
  bool is_shared() const { return node_.use_count() > 1; }

  friend Expression operator+(const Expression& a, const Expression& b) {
    return of(Kind::sum, {a, b});
  }
  friend Expression operator-(const Expression& a, const Expression& b) {
    return of(Kind::difference, {a, b});
  }
  friend Expression operator*(const Expression& a, const Expression& b) {
    return of(Kind::product, {a, b});
  }
  friend Expression operator/(const Expression& a, const Expression& b) {
    return of(Kind::quotient, {a, b});
  }
  friend Expression pow(const Expression& a, const Expression& b) {
    return of(Kind::power, {a, b});
  }
  friend Expression exp(const Expression& x) { return of(Kind::exponential, {x}); }
  friend Expression log(const Expression& x) { return of(Kind::logarithm, {x}); }
  friend Expression sqrt(const Expression& x) { return of(Kind::root, {x}); }
  friend Expression sin(const Expression& x) { return of(Kind::sine, {x}); }
  friend Expression cos(const Expression& x) { return of(Kind::cosine, {x}); }
  friend Expression tanh(const Expression& x) { return of(Kind::hyperbolic_tangent, {x}); }
  friend Expression erf(const Expression& x) { return of(Kind::error_function, {x}); }

 private:
  struct Node {
    Kind kind = Kind::number;
    double value = 0;
    CellPlace place = {};
    std::vector<Expression> parts = {};
    std::size_t strides = 0;
  };
  explicit Expression(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  std::shared_ptr<const Node> node_;
};

}  // namespace qkv::inline ops
