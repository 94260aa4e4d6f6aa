#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check/diagnose/diagnosis.hpp"
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

/// Where a candidate comes from, the most specific first: a mistake's own numbers; numbers fitted
/// to those written (which head, which bias); a transcription slip.
enum class CandidateKind { mistake, fitted, slip };

/// The numbers of a whole matrix that one mistake would produce.
struct Candidate {
  std::string_view id;
  std::string_view says;
  std::string_view hint;
  CandidateKind kind = CandidateKind::mistake;
  SlipScope scope = SlipScope::anything;
  CandidateValues numbers;
  Evidence evidence = {};
  /// Details for a cell, such as "0.5 · 2 is missing"; empty if there are none.
  std::function<std::string(std::size_t cell)> detail = {};
  std::size_t step = 0;  ///< index of the step where it was made: this one, or an earlier one
  /// Extra tolerance per cell for rounding in unsubmitted steps in between; empty if there is none.
  std::vector<double> room = {};
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
  std::span<const double> written = {};  ///< what the learner has, as far as that is known
  const Region* region = nullptr;        ///< the block that the wrong cells fill, if they do
  TermText term_text = {};
};

/// Who may have slipped: a large matrix comes from a program.
enum class Author { hand, program };

/// Returns the numbers that slips with at least this scope make of `right`. The context must
/// outlive them.
std::vector<Candidate> slip_candidates(const SlipContext& context, SlipScope least, Author by);

/// Returns the number of heads; 1 without an axis of heads. More than 16 heads are not compared.
std::size_t comparable_heads(const Tensor& tensor);

/// Returns the factor of the right numbers that is nearest to the written ones (least squares), of
/// the finite ones in these cells; 0 if there is none.
double nearest_factor(std::span<const double> written, std::span<const double> right);

}  // namespace qkv::inline check
