#pragma once

#include <vector>

#include "check/judge/learner.hpp"

namespace qkv {

/// Whether -inf is due in the lesson, or follows from where the learner has put it before.
bool is_hidden(const LearnerNode& node, std::size_t cell);

/// In a matrix in which -inf is due, very low numbers stand for it, in the wrong places, too: which
/// cells they are in.
std::vector<std::size_t> finite_masks(const Judgement& judgement, const Trace& trace,
                                      const LearnerNode& node);

}  // namespace qkv
