#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ops/expression.hpp"
#include "trace/reference.hpp"
#include "trace/trace.hpp"

namespace qkv {

enum class Notation { text, latex };

struct ArithmeticLook {
  int digits = 4;              ///< decimals of the numbers worked out
  std::size_t most_terms = 0;  ///< longer sums lose their middle, on every line; 0 keeps all
  Notation notation = Notation::text;
};

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
bool is_product_of_cells(const Expression& term);

/// The arithmetic of a cell of a step. A given has one line: its number.
CellArithmetic arithmetic_of(const Trace& trace, const CellReference& cell,
                             const ArithmeticLook& look);

/// The tree of a step's cell, its leaves naming the operands of the step's call.
Expression expression_of(const Trace& trace, const Step& step, const CellReference& cell);

/// A line of arithmetic broken at its operators to at most `columns`; names of cells stay whole.
std::vector<std::string> wrapped_arithmetic(std::string_view line, std::size_t columns);

}  // namespace qkv
