#pragma once

#include <string>
#include <vector>

#include "trace/trace.hpp"

namespace qkv {

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

}  // namespace qkv
