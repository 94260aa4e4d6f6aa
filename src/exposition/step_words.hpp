#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// What a step is called: by the lesson, or where it is silent by the operation. Not made safe.
std::string title_of(const Lesson& lesson, const Step& step);
std::string title_of(const StepText& words, const Operation& operation);

/// What is said before a step's matrix and what is to be noticed in it, live: the lesson's words,
/// or the operation's where it has none; and what to try then, empty for most steps.
std::string said_of(const Lesson& lesson, const Trace& trace, const Step& step, int digits);
std::string noticed_of(const Lesson& lesson, const Trace& trace, const Step& step, int digits);
std::string questions_of(const Lesson& lesson, const Trace& trace, const Step& step, int digits);

/// The five largest numbers of the last row, each with its column: what a model expects to come
/// next. Empty where there is no number.
std::string largest_of(const Step& step, Convention convention, int digits);

/// A lesson's prose with its braces filled in from the trace, numbers with `digits` decimals at
/// most. Decimals that a brace asks for all stand, so that lists line up, and a negative number
/// after `· ` or `+ ` has parentheses.
std::string live_prose(std::string_view prose, const Trace& trace, int digits);

/// The givens that no step before this one has used, in the lesson's order.
std::vector<const Given*> first_used_by(const Trace& trace, const Step& step);

/// Whether the lesson has this given printed where it is first used (`show = false`: only named).
bool is_shown(const Lesson& lesson, const Given& given);

}  // namespace qkv
