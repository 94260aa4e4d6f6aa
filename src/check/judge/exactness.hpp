#pragma once

#include <tuple>

#include "check/judge/judge.hpp"
#include "ops/numbers/numbers.hpp"

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

  /// Returns the cells of a matrix as operands of later steps with so many decimals, or of a binary
  /// type, which must hold them; empty if none is exact.
  std::span<const Decimal> entering(std::size_t node, int decimals,
                                    Precision type = Precision::digits);

 private:
  std::vector<Decimal> of_computed(const LearnerNode& node, int decimals,
                                   Precision type = Precision::digits);
  std::vector<Decimal> of_given(const LearnerNode& node, Precision type) const;
  std::vector<Decimal> of_submitted(const LearnerNode& node, int decimals);

  const Judgement& judgement_;
  const Trace& trace_;
  std::map<std::tuple<std::size_t, int, Precision>, std::vector<Decimal>> known_;
};

}  // namespace qkv::inline check
