#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/decimal.hpp"
#include "ops/expression.hpp"
#include "ops/interval.hpp"
#include "ops/mistake.hpp"
#include "ops/options.hpp"
#include "tensor/tensor.hpp"

namespace qkv {

/// What a lesson gives beside its matrices: the texts to tokenise and the vocabulary, if it has
/// one.
struct Environment {
  std::vector<std::string> texts;
  bool batch = false;  ///< the texts were written as a list
  std::vector<std::string> vocabulary;
};

/// One step about to be worked out: its inputs by position, what they are called, its options.
struct Call {
  std::string_view step;
  std::vector<const Tensor*> inputs;
  std::vector<std::string_view> names;
  const Options* options = nullptr;
  const Environment* environment = nullptr;
};

/// The shape rule and the formula of an operation, as they stand for one call.
struct Form {
  std::vector<std::string_view> operands;  ///< the axes of each operand's matrix: "query d_k"
  std::string_view output;                 ///< the axes of the result's matrix: "query key"
  std::string formula;                     ///< "{0} · {1}ᵀ", with the operands' names put in
  std::string turned = {};   ///< the same with tokens as columns; empty where it reads alike
  bool makes_heads = false;  ///< of what has none yet: a leading axis before it is a batch
};

/// An operand's matrix as one reading of a cell sees it: numbers, intervals, terms to print, or
/// numbers to their last decimal.
template <class N>
struct MatrixOf;

template <>
struct MatrixOf<double> {
  std::span<const double> values;
  std::size_t rows, columns;
  double operator()(std::size_t i, std::size_t j) const { return values[i * columns + j]; }
};

template <>
struct MatrixOf<Interval> {
  std::span<const double> low, high;
  std::size_t rows, columns;
  Interval operator()(std::size_t i, std::size_t j) const {
    return {low[i * columns + j], high[i * columns + j]};
  }
};

template <>
struct MatrixOf<Expression> {
  std::span<const double> values;
  std::size_t rows, columns;
  std::size_t operand, matrix;
  Expression operator()(std::size_t i, std::size_t j) const {
    return Expression::of_cell({operand, matrix, i, j}, values[i * columns + j]);
  }
};

template <>
struct MatrixOf<Decimal> {
  std::span<const Decimal> values;  ///< none where no cell is exact
  std::size_t rows, columns;
  Decimal operator()(std::size_t i, std::size_t j) const {
    return values.empty() ? Decimal::unknown() : values[i * columns + j];
  }
};

/// The lower and upper bounds of an operand's cells.
struct Bounds {
  const Tensor* low = nullptr;
  const Tensor* high = nullptr;
};

/// The lowest and highest that each cell of a tensor can be.
struct Range {
  Tensor low;
  Tensor high;
};

/// What the maths of one cell may look at: which cell it is, and the operands.
struct CellBase {
  const Call* call = nullptr;
  const Tensor* output = nullptr;  ///< for its shape; its values may not be there yet
  std::size_t matrix = 0;
  std::size_t row = 0;
  std::size_t column = 0;

  const Tensor& input(std::size_t k) const { return *call->inputs[k]; }
  /// The matrix of operand `k` that belongs to this cell's: leading axes of size 1 or missing
  /// repeat.
  std::size_t matching(std::size_t k) const;
};

template <class N>
struct Cell;

template <>
struct Cell<double> : CellBase {
  MatrixOf<double> of(std::size_t k, std::size_t m) const {
    return {input(k).cells(m), input(k).rows(), input(k).columns()};
  }
  MatrixOf<double> operator()(std::size_t k) const { return of(k, matching(k)); }
};

template <>
struct Cell<Interval> : CellBase {
  std::span<const Bounds> bounds;
  MatrixOf<Interval> of(std::size_t k, std::size_t m) const {
    return {bounds[k].low->cells(m), bounds[k].high->cells(m), input(k).rows(), input(k).columns()};
  }
  MatrixOf<Interval> operator()(std::size_t k) const { return of(k, matching(k)); }
};

template <>
struct Cell<Expression> : CellBase {
  MatrixOf<Expression> of(std::size_t k, std::size_t m) const {
    return {input(k).cells(m), input(k).rows(), input(k).columns(), k, m};
  }
  MatrixOf<Expression> operator()(std::size_t k) const { return of(k, matching(k)); }
};

template <>
struct Cell<Decimal> : CellBase {
  std::span<const std::span<const Decimal>> decimals;  ///< of each operand; none if none is exact
  MatrixOf<Decimal> of(std::size_t k, std::size_t m) const {
    const std::size_t size = decimals[k].empty() ? 0 : input(k).rows() * input(k).columns();
    return {decimals[k].subspan(m * size, size), input(k).rows(), input(k).columns()};
  }
  MatrixOf<Decimal> operator()(std::size_t k) const { return of(k, matching(k)); }
};

/// The same maths, read four ways: a number, what rounding can make of it, the arithmetic, and
/// whether there was anything to round.
struct Readings {
  double (*number)(const Cell<double>&) = nullptr;
  Interval (*interval)(const Cell<Interval>&) = nullptr;
  Expression (*expression)(const Cell<Expression>&) = nullptr;
  Decimal (*decimal)(const Cell<Decimal>&) = nullptr;
};

/// A matrix on the way from the operands to the result that is worth showing: softmax's
/// exponentials.
struct Part {
  std::string title;
  Tensor tensor;
};

/// A result of the first operand's size that costs less than fresh memory for it does: how each of
/// its rows becomes the result's, in place.
struct InPlace {
  Tensor frame;  ///< the result without its numbers
  std::function<void(std::size_t matrix, std::size_t row, std::span<double> cells)> work;
};

/// All that the program knows about one operation. To add one: a file with one of these, and its
/// line in the catalogue.
struct Operation {
  std::string_view name;    ///< as lesson files write it: "weighted_sum"
  std::string_view title;   ///< "Weighted sum: mix the values"
  std::string_view says;    ///< what it does and why, where a lesson says nothing
  std::string_view notice;  ///< what to look for in the result
  /// What `of` lists in a lesson file, by example: `["Q", "K"]`; empty where it takes nothing.
  std::string_view operands = {};
  std::size_t fewest = 1;  ///< how many operands it takes, at least and at most
  std::size_t most = 1;
  std::span<const OptionRule> options = {};
  Form (*form)(const Call&) = nullptr;
  Tensor (*compute)(const Call&) = nullptr;  ///< throws InputError where the shapes do not fit
  /// Where the result is cheap: large ones are then not kept, but made again whenever somebody
  /// looks. It may keep nothing of the call, and makes nan of nothing else. Nothing where the
  /// result outgrows the first operand.
  std::optional<InPlace> (*in_place)(const Call&) = nullptr;
  /// What to do where it came to divide 0 by 0.
  std::string_view against_zero = "look for rows of zeros in its operands";
  Readings cell = {};
  /// All cells' intervals at once, for large matrices: never narrower than the cells' own, at most
  /// 1.5 times as wide. `result` lends its axes. Nothing where only the cells can tell.
  std::optional<Range> (*range)(const Call&, std::span<const Bounds>,
                                const Tensor& result) = nullptr;
  /// No result is below it, and rounding takes none there: what divides by a sum of such numbers
  /// must not fear that the sum is 0.
  double least = -std::numeric_limits<double>::infinity();
  bool makes_weights = false;  ///< the result is shares of 1, line by line: shown as dots as well
  std::vector<Part> (*parts)(const Call&) = nullptr;  ///< none where the result is one stride away
  /// Why a cell is what it is, where its arithmetic can't say it; empty where that says it all.
  std::string (*remark)(const CellBase&) = nullptr;
  std::span<const Mistake> mistakes = {};  ///< the wrong versions that learners compute
};

/// The maths of a cell, written once as `template <class N> static N cell(const Cell<N>&)`.
template <class Maths>
constexpr Readings readings_of() {
  return {&Maths::template cell<double>, &Maths::template cell<Interval>,
          &Maths::template cell<Expression>, &Maths::template cell<Decimal>};
}

/// term(0) + term(1) + …, added from left to right.
template <class N, class Term>
N sum(std::size_t count, Term term) {
  if constexpr (std::is_same_v<N, Expression>) {
    std::vector<Expression> terms;
    for (std::size_t t = 0; t < count; ++t) terms.push_back(term(t));
    if (terms.size() == 1) return terms.front();
    return Expression::of(Expression::Kind::sum, std::move(terms));
  } else {
    N total = 0.0;
    for (std::size_t t = 0; t < count; ++t) {
      total = total + term(t);
      if constexpr (std::is_same_v<N, Decimal>) {
        if (!total.is_exact()) break;  // whatever follows
      }
    }
    return total;
  }
}

/// What the operation makes of the call; where that is large and cheap, it is made again whenever
/// somebody looks.
Tensor result_of(const Operation& operation, const Call& call);

/// Works out every cell of `output` with the cell's own maths: the fast path of an operation whose
/// cells each take a few operations.
Tensor cell_by_cell(const Call& call, Tensor output, double (*cell)(const Cell<double>&));

}  // namespace qkv
