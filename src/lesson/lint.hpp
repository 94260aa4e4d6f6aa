#pragma once

#include <vector>

#include "lesson/lesson.hpp"
#include "trace/evaluate.hpp"

namespace qkv::inline lesson {

/// Everything wrong with a lesson, in the order of its file: what reading found, steps that can't
/// be worked out, braces in prose that stand for nothing, expectations that do not hold; and, as
/// advice, steps without words of their own.
std::vector<Fault> lint(const ParsedLesson& reading);

}  // namespace qkv::inline lesson
