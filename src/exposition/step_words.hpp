#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace qkv::inline exposition {

/// What a step is called: by the lesson, or where it is silent by the operation. Not made safe.
std::string title_of(const Lesson& lesson, const Step& step);
std::string title_of(const StepText& words, const Operation& operation);

/// What is said before a step's matrix and what is to be noticed in it, live: the lesson's words,
/// or the operation's where it has none; and what to try then, empty for most steps.
std::string explanation_of(const Lesson& lesson, const Trace& trace, const Step& step, int digits);
std::string notice_of(const Lesson& lesson, const Trace& trace, const Step& step, int digits);
std::string questions_of(const Lesson& lesson, const Trace& trace, const Step& step, int digits);

/// The five largest numbers of the last row, each with its column: what a model expects to come
/// next. Empty where there is no number.
std::string top_entries(const Step& step, TokenLayout token_layout, int digits);

/// A lesson's prose with its braces filled in from the trace, numbers with `digits` decimals at
/// most. Decimals that a brace asks for all stand, so that lists line up, and a negative number
/// after `· ` or `+ ` has parentheses.
std::string fill_placeholders(std::string_view prose, const Trace& trace, int digits);

/// The givens that no step before this one has used, in the lesson's order.
std::vector<const Given*> new_givens_of(const Trace& trace, const Step& step);

/// Whether the lesson has this given printed where it is first used (`show = false`: only named).
bool is_shown(const Lesson& lesson, const Given& given);

/// A stretch of a step's formula: plain text, or an operand as it stands in it.
struct FormulaPiece {
  std::string text = {};    ///< "softmax of each row of ", or the operand's name
  bool is_operand = false;  ///< then the rest says how it stands there
  bool transposed = false;  ///< with a ᵀ behind it
  std::string shape = {};   ///< as people see it: "7×2"; of Kᵀ the shape turned over
};

/// The formula of a step, its operands' names put in. The text is as the operation wrote it, the
/// names as the lesson did: neither is made safe to show yet.
/// Example: {Q (7×2)}, " · ", {K, transposed (2×7)}; scores, 7×7.
struct Formula {
  std::vector<FormulaPiece> pieces;
  std::string result;
  std::string result_shape;
};
Formula formula_of(const Trace& trace, const Step& step);

/// `Q (7×2) · Kᵀ (2×7) → scores (7×7)`.
std::string formula_text(const Formula& formula);

}  // namespace qkv::inline exposition
