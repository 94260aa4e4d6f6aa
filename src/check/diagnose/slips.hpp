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

/// How much of a matrix one slip can affect.
enum class SlipScope { anything, line };

/// The numbers that a slip would produce, NaN where undefined. For two exchanged rows it stores
/// only their indices, since a large matrix has too many pairs to copy.
class CandidateValues {
 public:
  CandidateValues(Tensor numbers) : tensor_(std::move(numbers)) {}

  /// Exchanges two rows, counted through all matrices.
  CandidateValues(Tensor numbers, std::size_t row, std::size_t other)
      : tensor_(std::move(numbers)), exchanged_({row, other}) {}

  const Tensor& tensor() const { return tensor_; }  ///< before the exchange
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

/// A transcription slip made on a whole matrix.
struct SlipCandidate {
  std::string_view id;
  std::string_view says;
  std::string_view hint;
  SlipScope scope = SlipScope::anything;
  std::vector<CandidateValues> candidates;
  Evidence evidence = {};
  /// Details for a cell, more specific than the id; empty if there are none.
  std::function<std::string(std::size_t variant, std::size_t cell)> detail = {};
};

/// Formats a term of a sum, naming its cells.
using TermText = std::function<std::string(const Expression& term)>;

/// The data of a step that slips need.
struct SlipContext {
  const Tensor* right = nullptr;                     ///< the step from the learner's own numbers
  int decimals = 0;                                  ///< that the learner writes
  std::vector<std::vector<std::size_t>> wrong_rows;  ///< of each matrix, from 0
  /// Returns the arithmetic of a cell from the learner's own numbers; empty for a given.
  std::function<Expression(std::size_t matrix, std::size_t row, std::size_t column)> arithmetic;
  /// Cells where a slip within one line may show. Other cells may stay NaN, since their digits or
  /// arithmetic are expensive.
  std::vector<bool> near_wrong;
  std::span<const double> written = {};     ///< what the learner has, as far as that is known
  std::span<const std::size_t> zeros = {};  ///< the cells of a block in which all are 0
  TermText term_text = {};
};

/// Who may have slipped: a large matrix comes from a program.
enum class Author { hand, program };

/// Returns the slips with at least this scope, and the numbers that they make of `right`. The
/// context must outlive them.
std::vector<SlipCandidate> slip_candidates(const SlipContext& context, SlipScope least, Author by);

/// Returns the ids of all slips.
std::vector<std::string_view> all_slip_ids();

}  // namespace qkv::inline check
