#pragma once

#include "lesson/lesson.hpp"

namespace qkv::inline check {

/// True if a lesson suits hand calculation: small matrices, and mostly short given numbers.
bool is_for_hand_work(const Trace& trace);

/// Returns a fault for each step where a known mistake leaves the numbers unchanged, though other
/// numbers or sizes (d_k = d_model) would expose it. Mistakes that no lesson of this kind can show
/// are left out: a matrix scored with itself has no swapped operands, a single row no other rows.
std::vector<Fault> undetectable_mistakes(const Lesson& lesson, const Trace& trace);

/// Returns a fault for each given that has a number of many digits while the others are short.
std::vector<Fault> long_numbers(const Lesson& lesson, const Trace& trace);

/// A known mistake that gives the right numbers, or the same numbers as another mistake.
struct IndistinguishablePair {
  std::string step;
  std::string_view id;     ///< the mistake
  std::string_view other;  ///< the other mistake with the same numbers; empty: the right numbers

  bool operator==(const IndistinguishablePair&) const = default;
};

/// Returns the mistakes that, made on the lesson's own numbers, give the right numbers or those of
/// another mistake, within `unit` in every cell. Each pair occurs once, in step order. A mistake
/// with several forms counts if any form matches, one with a free number only if all are right.
std::vector<IndistinguishablePair> indistinguishable_mistakes(const Trace& trace, double unit);

/// Returns only those that give the right numbers.
std::vector<IndistinguishablePair> invisible_mistakes(const Trace& trace, double unit);

}  // namespace qkv::inline check
