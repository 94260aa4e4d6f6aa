#pragma once

#include <vector>

#include "check/compare/compare.hpp"
#include "check/judge/judge.hpp"

namespace qkv::inline check {

/// True if -inf is expected in the lesson, or follows from the learner's own earlier -inf.
bool expects_minus_infinity(const LearnerNode& node, std::size_t cell);

/// Returns the cells with a finite mask: a very low number that stands for -inf. Only matrices that
/// should have -inf have any, possibly in wrong cells.
std::vector<std::size_t> finite_masks(const Judgement& judgement, const Trace& trace,
                                      const LearnerNode& node);

/// True if NaN follows in a cell: its line's operand is all -inf, as the learner hid every key.
/// Programs divide 0 by 0 there; the lesson writes 0.
bool nan_follows(const Judgement& judgement, const LearnerNode& node, std::size_t cell);

/// Removes mismatches where one side has -inf and the other a number low enough to mask the same
/// key.
void accept_finite_masks(ComparedStep& step);

}  // namespace qkv::inline check
