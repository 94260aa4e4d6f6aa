#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/numbers/expression.hpp"
#include "trace/reference.hpp"
#include "trace/trace.hpp"

namespace qkv::inline exposition {

enum class Notation { text, latex };

struct ArithmeticStyle {
  int digits = 4;             ///< decimals of the numbers worked out
  std::size_t max_terms = 0;  ///< longer sums lose their middle, on every line; 0 keeps all
  Notation notation = Notation::text;
  std::string_view minus = "-";  ///< the sign of a negative number; typeset_minus where it is print
};

/// How the arithmetic of a step's cells is written.
struct CellNotation {
  const ArithmeticStyle& look;
  bool weight_first = false;  ///< of a product of two cells the second factor first: W·x
  std::function<std::string(const CellPlace&)> name;  ///< of a cell that it is made of
};

/// A term at one stage of the calculation: at stage 0 with the names of its cells, at stage s with
/// every part worked out that takes fewer than s strides.
std::string text_at_stage(std::size_t stage, const Expression& term, const CellNotation& notation);

bool is_product_of_cells(const Expression& term);

/// `scores[cat,fat]` in LaTeX: scores with an index below it.
std::string latex_cell(std::string_view reference);

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
                             const ArithmeticStyle& look);

/// The tree of a step's cell, its leaves naming the operands of the step's call.
Expression expression_of(const Trace& trace, const Step& step, const CellReference& cell);

}  // namespace qkv::inline exposition
