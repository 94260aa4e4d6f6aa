#pragma once

#include <string>
#include <string_view>

#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// The trace with what lies on the way to its results as steps of their own, each before the step
/// that it leads to: softmax's exponentials have an arithmetic and are read, as any matrix's cells.
/// Of steps that the lesson does not show there are none.
Trace with_ways(const Lesson& lesson, const Trace& trace);

/// What such a step is called: no name of a lesson's own has a line break.
std::string way_name(std::string_view step, std::string_view title);

/// A name as people see it: of a step that is on the way its title.
std::string_view shown_name(std::string_view name);

}  // namespace qkv
