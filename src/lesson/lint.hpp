#pragma once

#include <vector>

#include "lesson/lesson.hpp"
#include "trace/evaluate.hpp"

namespace qkv::inline lesson {

/// Returns all faults of a lesson in file order: those of the parser, steps that can't be computed,
/// unknown braces in prose, and failed expectations. Steps without their own prose are advice.
std::vector<Fault> lint(const ParsedLesson& reading);

}  // namespace qkv::inline lesson
