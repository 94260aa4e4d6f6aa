#pragma once

#include "check/compare/compare.hpp"

namespace qkv {

/// Judges what a program wrote as check does, by the lesson that it is compared with: `program` is
/// one of the sides, whose numbers are taken out of it as they were written. Steps that have a
/// tolerance of their own stay as they are.
void judge_program(const Lesson& lesson, const Trace& trace, Side& program,
                   const ToleranceChoice& choice, Comparison& comparison);

}  // namespace qkv
