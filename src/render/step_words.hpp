#pragma once

#include <string>
#include <string_view>
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

/// The formula of a step, its operands' names put in; without the result. The text is as the
/// operation wrote it, the names as the lesson did: neither is made safe to show yet.
/// Example: {Q (7×2)}, " · ", {K, transposed (2×7)}.
std::vector<FormulaPiece> formula_pieces(const Trace& trace, const Step& step);

/// A lesson's prose with its braces filled in from the trace, numbers with `digits` decimals at
/// most.
std::string live_prose(std::string_view prose, const Trace& trace, int digits);

/// The givens that no step before this one has used, in the lesson's order.
std::vector<const Given*> first_used_by(const Trace& trace, const Step& step);

}  // namespace qkv
