#pragma once

#include <tuple>

#include "check/judge/judge.hpp"

namespace qkv::inline check {

/// Finds cells where no rounding occurs, and their exact values: all inputs are exact, and no
/// intermediate number has more decimals than the learner wrote. A binary type must hold them. The
/// judgement, which may still grow, and the trace must outlive it.
class Exactness {
 public:
  Exactness(const Judgement& judgement, const Trace& trace)
      : judgement_(judgement), trace_(trace) {}

  /// Returns the cells of a submitted step, computed from the learner's earlier numbers with the
  /// decimals written; empty if none is exact.
  std::vector<Decimal> expected(const LearnerNode& node);

  /// How many digits numbers have that were not submitted.
  struct Digits {
    int decimals = 0;
    int significant = 0;  ///< the most, in e-notation; else 0
    bool hold(const Decimal& number) const;
    auto operator<=>(const Digits&) const = default;
  };

  /// Returns the cells of a matrix as operands of later steps with such digits, or of a binary
  /// type, which must hold them; empty if none is exact.
  std::span<const Decimal> entering(std::size_t node, Digits digits,
                                    Precision type = Precision::digits);

 private:
  std::vector<Decimal> of_computed(const LearnerNode& node, Digits digits,
                                   Precision type = Precision::digits);
  std::vector<Decimal> of_given(const LearnerNode& node, Precision type) const;
  std::vector<Decimal> of_submitted(const LearnerNode& node, Digits digits);

  const Judgement& judgement_;
  const Trace& trace_;
  std::map<std::tuple<std::size_t, Digits, Precision>, std::vector<Decimal>> known_;
};

/// The cells that one softmax weighs: a row, or a column where queries run across.
struct Line {
  std::size_t first, length, stride;
  std::vector<std::size_t> cells() const {
    std::vector<std::size_t> cells(length, first);
    for (std::size_t k = 0; k < length; ++k) cells[k] += k * stride;
    return cells;
  }
};

/// Returns the tensor's line of that index, counted through all matrices.
Line line_at(const Tensor& tensor, std::size_t index, bool down);

/// True if the tensor's queries run across.
bool runs_down(const Tensor& tensor);

/// True if -inf is expected in the lesson, or follows from the learner's own earlier -inf.
bool expects_minus_infinity(const LearnerNode& node, std::size_t cell);

/// Returns the cells with a finite mask: a very low number that stands for -inf. Only matrices that
/// should have -inf have any, possibly in wrong cells.
std::vector<std::size_t> finite_masks(const Judgement& judgement, const Trace& trace,
                                      const LearnerNode& node);

/// Computes the step from finite masks as typed: -1000 / √2 is a mask, too. Empty without masks.
Tensor worked_from_typed(const Judgement& judgement, const Trace& trace, const LearnerNode& node);

/// True if a weight follows whose line's operand is all -inf, as the learner hid every key; the
/// lesson writes 0. Programs divide 0 by 0: all of the line is NaN. Of finite masks the weights are
/// those of `typed`, worked out from the masks.
bool follows_in_hidden_line(const Judgement& judgement, const LearnerNode& node,
                            const Tensor& typed, std::size_t cell);

/// True if a mask hides the cell's key from its query, which sees others: its weight is 0.
bool is_hidden_weight(const Judgement& judgement, const LearnerNode& node, std::size_t cell);

}  // namespace qkv::inline check
