#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "check/diagnose/diagnosis.hpp"
#include "trace/reference.hpp"

namespace qkv {

/// A number as a person types an answer, which is as they write it in a cell (formats/cell.hpp): a
/// decimal point or comma, a fraction, a root, a percentage, inf and -inf. A fraction of whole
/// numbers is meant exactly; another (0.5/1.41) has the decimals of its parts. Throws InputError
/// that says how to write one.
Numeral parse_answer(std::string_view text);

/// What the check says of one cell by itself.
struct AnswerReport {
  Verdict verdict = Verdict::correct;
  std::vector<Diagnosis> mistakes;  ///< that make just this number, best first

  bool is_right() const { return verdict != Verdict::wrong; }
};

/// Judges one cell as `check` would judge a matrix with nothing but this cell in it, handed in
/// together with the step's operands as they are shown with `digits` decimals: those are what the
/// answer was worked from.
AnswerReport judge_answer(const Trace& trace, const CellReference& cell, const Numeral& answer,
                          int digits);

}  // namespace qkv
