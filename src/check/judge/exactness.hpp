#pragma once

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "check/judge/learner.hpp"
#include "ops/numbers/decimal.hpp"

namespace qkv {

/// Which cells had nothing to round, and what they must be then: all
/// that goes into them is exact, and nothing on the way takes more decimals than the learner wrote.
/// The judgement, which may still grow, and the trace must outlive it.
class Exactness {
 public:
  Exactness(const Judgement& judgement, const Trace& trace)
      : judgement_(judgement), trace_(trace) {}

  /// The cells of a step that was handed in, worked out from the learner's numbers before it with
  /// as many decimals as were written; empty where none of them is exact.
  std::vector<Decimal> due(const LearnerNode& node);

  /// The cells of a matrix as they enter later steps that are worked out with so many decimals;
  /// empty where none is exact.
  std::span<const Decimal> entering(std::size_t node, int decimals);

 private:
  std::vector<Decimal> worked_out(const LearnerNode& node, int decimals);
  std::vector<Decimal> of_given(const LearnerNode& node) const;
  std::vector<Decimal> handed_in(const LearnerNode& node, int decimals);

  const Judgement& judgement_;
  const Trace& trace_;
  std::map<std::pair<std::size_t, int>, std::vector<Decimal>> known_;
};

}  // namespace qkv
