#pragma once

#include <vector>

#include "check/compare/compare.hpp"
#include "check/judge/judge.hpp"

namespace qkv::inline check {

/// True if the lesson expects -inf, or the learner's own earlier -inf leads to it.
bool expects_minus_infinity(const LearnerNode& node, std::size_t cell);

/// Returns the cells whose very low numbers stand for -inf, in wrong places, too. Empty for a
/// matrix in which no -inf is expected.
std::vector<std::size_t> finite_masks(const Judgement& judgement, const Trace& trace,
                                      const LearnerNode& node);

/// Excludes cells from the difference where one side has -inf and the other a finite mask of the
/// same key.
void accept_finite_masks(ComparedStep& step);

}  // namespace qkv::inline check
