#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace qkv::inline check {

/// Whether a lesson is meant to be worked out by hand: every matrix of its steps is small, and most
/// of its given numbers are short.
bool is_for_hand_work(const Trace& trace);

/// One line for each step whose numbers stay the same under some known mistakes, though other
/// numbers would tell them apart, or other sizes (d_k = d_model): a learner who makes one of them
/// there is not found out. What no lesson of this kind can show is left out: a matrix scored with
/// itself has no wrong way round, and a single row no other rows.
std::vector<Fault> undetectable_mistakes(const Lesson& lesson, const Trace& trace);

/// One line for each given with a number that nobody wants to multiply by: many digits, among
/// givens that are short.
std::vector<Fault> long_numbers(const Lesson& lesson, const Trace& trace);

/// A known mistake that a lesson's numbers do not show, or not apart from another one.
struct IndistinguishablePair {
  std::string step;
  std::string_view id;     ///< of the mistake
  std::string_view other;  ///< of the one that gives the same numbers; empty: the right ones
};

/// The mistakes of every step's operation that, made on the lesson's own numbers, give the step's
/// right numbers, or those of another mistake, to within `unit` in every cell. Each pair once, in
/// the order of the steps; a mistake that comes in several forms counts where any form of it does.
std::vector<IndistinguishablePair> indistinguishable_mistakes(const Trace& trace, double unit);

/// Only those that give the right numbers.
std::vector<IndistinguishablePair> invisible_mistakes(const Trace& trace, double unit);

}  // namespace qkv::inline check
