#pragma once

#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace qkv::inline exposition {

/// Returns the lesson's title of a step, or else the operation's. Not sanitised.
std::string title_of(const Lesson& lesson, const Step& step);

/// Return the texts before a step's matrix, after it (what to notice), of questions to try and of
/// their answers. They are the lesson's or else the operation's, with numbers filled in. Most steps
/// have no questions.
std::string explanation_of(const Lesson& lesson, const Trace& trace, const Step& step, int digits);
std::string notice_of(const Lesson& lesson, const Trace& trace, const Step& step, int digits);
std::string questions_of(const Lesson& lesson, const Trace& trace, const Step& step, int digits);
std::string answers_of(const Lesson& lesson, const Trace& trace, const Step& step, int digits);

/// Returns the five largest entries of the last row with their columns; empty if there is none.
std::string top_entries(const Step& step, TokenLayout token_layout, int digits);

/// Returns prose with its {placeholders} replaced by numbers of the trace, with at most `digits`
/// decimals. Decimals that a placeholder asks for are padded, so that lists line up. A negative
/// number after `· ` or `+ ` gets parentheses.
std::string fill_placeholders(std::string_view prose, const Trace& trace, int digits);

/// Returns the givens that no earlier step has used, in the lesson's order.
std::vector<const Given*> new_givens_of(const Trace& trace, const Step& step);

/// True if the lesson prints this given at its first use (`show = false`: only its name).
bool is_shown(const Lesson& lesson, const Given& given);

/// A part of a step's formula: plain text, or an operand.
struct FormulaPiece {
  std::string text = {};    ///< "softmax of each row of ", or the operand's name
  bool is_operand = false;  ///< then the other members describe it
  bool transposed = false;  ///< printed with a ᵀ
  std::string shape = {};   ///< as displayed: "7×2"; of Kᵀ the transposed shape
};

/// The formula of a step with its operands' names. The texts of operation and lesson are not
/// sanitised. Example: {Q (7×2)}, " · ", {K, transposed (2×7)}; scores, 7×7.
struct Formula {
  std::vector<FormulaPiece> pieces;
  std::string result;
  std::string result_shape;
};
Formula formula_of(const Trace& trace, const Step& step);

/// Returns the formula as text: `Q (7×2) · Kᵀ (2×7) → scores (7×7)`.
std::string formula_text(const Formula& formula);

}  // namespace qkv::inline exposition
