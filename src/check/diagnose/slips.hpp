#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/numbers/expression.hpp"
#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline check {

/// How much of a matrix a slip can spoil in one go.
enum class SlipScope { anything, line };

/// What a slip makes of every cell of a matrix, NaN where it has no meaning. Of a matrix with two
/// rows exchanged only their places are kept: a large one has too many pairs of rows to copy it for
/// each.
class CandidateValues {
 public:
  CandidateValues(Tensor numbers) : tensor_(std::move(numbers)) {}

  /// Rows are counted through all matrices.
  CandidateValues(Tensor numbers, std::size_t row, std::size_t other)
      : tensor_(std::move(numbers)), exchanged_({row, other}) {}

  const Tensor& tensor() const { return tensor_; }  ///< with its rows as they were
  const std::optional<std::pair<std::size_t, std::size_t>>& exchanged() const { return exchanged_; }
  Shape shape() const { return tensor_.shape(); }

  double operator[](std::size_t cell) const {
    return std::as_const(tensor_).values[exchanged_ ? place_of(cell) : cell];
  }

 private:
  std::size_t place_of(std::size_t cell) const {
    const std::size_t columns = tensor_.columns();
    const auto [a, b] = *exchanged_;
    const std::size_t row = cell / columns;
    const std::size_t from = row == a ? b : row == b ? a : row;
    return from * columns + cell % columns;
  }

  Tensor tensor_;
  std::optional<std::pair<std::size_t, std::size_t>> exchanged_;
};

/// A slip of the pen made on a whole matrix.
struct SlipCandidate {
  std::string_view id;
  std::string_view says;
  std::string_view hint;
  SlipScope scope = SlipScope::anything;
  std::vector<CandidateValues> candidates;
  Evidence evidence = {};
  /// What happened in a cell, more closely than the id says; empty where there is no more.
  std::function<std::string(std::size_t version, std::size_t cell)> detail = {};
};

/// A term of a sum, and how its cells are called.
using TermText = std::function<std::string(const Expression& term)>;

/// What slips need to know of a step.
struct SlipContext {
  const Tensor* right = nullptr;                     ///< the step from the learner's own numbers
  int decimals = 0;                                  ///< that the learner writes
  std::vector<std::vector<std::size_t>> wrong_rows;  ///< of each matrix, from 0
  /// The arithmetic of a cell from the learner's own numbers; empty for a given.
  std::function<Expression(std::size_t matrix, std::size_t row, std::size_t column)> arithmetic;
  /// Where a slip that reaches no further than a line may show; the other cells stay NaN where the
  /// digits of each, or its arithmetic, would have to be looked at.
  std::vector<bool> near_wrong;
  std::span<const double> written = {};     ///< what the learner has, as far as that is known
  std::span<const std::size_t> zeros = {};  ///< the cells of a block in which all are 0
  TermText term_text = {};
};

/// Who may have slipped: of a large matrix only a program.
enum class Author { hand, program };

/// The slips that reach at least so far, with the numbers that they make of `right`. The context
/// must outlive them.
std::vector<SlipCandidate> slip_candidates(const SlipContext& context, SlipScope least, Author by);

/// The ids of all slips.
std::vector<std::string_view> all_slip_ids();

}  // namespace qkv::inline check
