#pragma once

#include <map>

#include "check/judge/exactness.hpp"
#include "check/judge/learner.hpp"
#include "ops/cell.hpp"
#include "ops/result.hpp"

namespace qkv {

/// What rounding can make of a step: its range over all that its inputs may be, each within a unit
/// of the learner's numbers. `units` are those of the matrix at hand: they decide to how many
/// decimals the steps between were worked. All that it is made of must outlive it.
class Ranges {
 public:
  Ranges(const Judgement& judgement, const Trace& trace, Exactness& exactness, const Units& units)
      : judgement_(judgement), trace_(trace), exactness_(exactness), units_(units) {}

  /// What the step's own maths gives, before it is rounded.
  Range of_step(const LearnerNode& node);

 private:
  const Range& of_node(std::size_t index);
  Range of_made(std::size_t index);

  const Judgement& judgement_;
  const Trace& trace_;
  Exactness& exactness_;
  const Units& units_;
  std::map<std::size_t, Range> known_;
};

}  // namespace qkv
