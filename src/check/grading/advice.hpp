#pragma once

#include <vector>

#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// Whether a lesson is meant to be worked out by hand: every matrix of its steps is small, and most
/// of its given numbers are short.
bool is_for_hand_work(const Trace& trace);

/// One line for each step whose numbers stay the same under some known mistakes, though other
/// numbers would tell them apart, or other sizes (d_k = d_model): a learner who makes one of them
/// there is not found out. What no lesson of this kind can show is left out: a matrix scored with
/// itself has no wrong way round, and a single row no other rows.
std::vector<Fault> hidden_mistakes(const Lesson& lesson, const Trace& trace);

/// One line for each given with a number that nobody wants to multiply by: many digits, among
/// givens that are short.
std::vector<Fault> long_numbers(const Lesson& lesson, const Trace& trace);

}  // namespace qkv
