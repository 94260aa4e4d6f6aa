#pragma once

#include <map>

#include "check/judge/exactness.hpp"
#include "check/judge/judge.hpp"
#include "ops/result.hpp"

namespace qkv::inline check {

/// Bounds a step for all inputs that lie within one unit of the learner's numbers. `units` are
/// those of the current matrix: they give the decimals of unsubmitted steps before it. All
/// constructor arguments must outlive it.
class Ranges {
 public:
  Ranges(const Judgement& judgement, const Trace& trace, Exactness& exactness,
         const MatrixTolerance& units)
      : judgement_(judgement), trace_(trace), exactness_(exactness), units_(units) {}

  /// Returns the bounds of the step's result before it is rounded.
  Range of_step(const LearnerNode& node);

 private:
  const Range& of_node(std::size_t index);
  Range of_made(std::size_t index);

  const Judgement& judgement_;
  const Trace& trace_;
  Exactness& exactness_;
  const MatrixTolerance& units_;
  std::map<std::size_t, Range> known_;
};

}  // namespace qkv::inline check
