#pragma once

#include <vector>

#include "lesson/lesson.hpp"
#include "trace/evaluate.hpp"

namespace qkv::inline lesson {

/// Returns all faults in file order: of reading, evaluation, braces in prose and expectations.
/// Steps without prose of their own are reported as advice.
std::vector<Fault> lint(const ParsedLesson& reading);

}  // namespace qkv::inline lesson
