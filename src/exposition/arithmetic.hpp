#pragma once

#include <string>
#include <vector>

#include "exposition/cell_notation.hpp"
#include "trace/reference.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// How one cell is worked out, a line for each stride of a calculation by hand: the cells by name,
/// their numbers, then one operation after the other, down to the result.
/// Example: `Q[cat,1]·W[1,2] + …`, `0.5·2 + …`, `1 + …`, `1.25`.
struct CellArithmetic {
  std::string cell;  ///< `scores[cat,fat]`
  double value = 0;
  std::vector<std::string> lines;  ///< without the cell, without "="
  std::string remark = {};         ///< what the arithmetic can't say: why the cell is hidden
};

/// Whether the step's products of two cells have their second factor first: with tokens as columns
/// the weight does, W·x, as the formula has it.
bool writes_weight_first(const Trace& trace, const Step& step);

/// The arithmetic of a cell of a step. A given has one line: its number.
CellArithmetic arithmetic_of(const Trace& trace, const CellReference& cell,
                             const ArithmeticLook& look);

/// The tree of a step's cell, its leaves naming the operands of the step's call.
Expression expression_of(const Trace& trace, const Step& step, const CellReference& cell);

}  // namespace qkv
