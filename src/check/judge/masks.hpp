#pragma once

#include <vector>

#include "check/compare/compare.hpp"
#include "check/judge/judge.hpp"

namespace qkv::inline check {

/// Whether -inf is due in the lesson, or follows from where the learner has put it before.
bool expects_minus_infinity(const LearnerNode& node, std::size_t cell);

/// In a matrix in which -inf is due, very low numbers stand for it, in the wrong places, too: which
/// cells they are in.
std::vector<std::size_t> finite_masks(const Judgement& judgement, const Trace& trace,
                                      const LearnerNode& node);

/// Takes out of what differs where one side has -inf and the other a number so low that it hides
/// the same key.
void accept_finite_masks(ComparedStep& step);

}  // namespace qkv::inline check
