#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ops/numbers/expression.hpp"
#include "trace/cell_reference.hpp"
#include "trace/trace.hpp"

namespace qkv::inline exposition {

enum class Notation { text, latex };

struct ArithmeticStyle {
  int digits = 4;             ///< decimals of results
  std::size_t max_terms = 0;  ///< longer sums lose their middle on every line; 0 keeps all
  Notation notation = Notation::text;
  std::string_view minus = "-";  ///< the sign of a negative number; typeset_minus in print
};

bool is_product_of_cells(const Expression& term);

/// The calculation of one cell, one line per stage: cell names, their numbers, then one operation
/// after the other, down to the result. Example: `Q[cat,1]·W[1,2] + …`, `0.5·2 + …`, `1 + …`,
/// `1.25`. A sign is ≈ if the numbers printed on the line above give another number on this one,
/// worked out on paper and rounded alike: 0.0879·2 = 0.1758 where this line has 0.1759.
struct CellArithmetic {
  std::string cell;  ///< `scores[cat,fat]`
  double value = 0;
  std::vector<std::string> lines;            ///< without the cell's name and the sign
  std::vector<std::string_view> signs = {};  ///< before each line: = or ≈, as the notation has it
  double from_printed = 0;  ///< the result of the numbers that the second line prints
  std::string remark = {};  ///< what the arithmetic cannot show: why the cell is masked

  /// Returns the numbers and how they become the result: `0.5·2 + 0.25·1 = 1 + 0.25 = 1.25`. Of a
  /// copied number the names.
  std::string on_one_line() const;
};

/// True if the step's products print the weight first, as with tokens as columns: W·x.
bool writes_weight_first(const Trace& trace, const Step& step);

/// Returns the arithmetic of a step's cell. A given has one line: its number.
CellArithmetic arithmetic_of(const Trace& trace, const CellReference& cell,
                             const ArithmeticStyle& look);

/// Returns a cell's expression tree; its leaves name the operands of the step's call.
Expression expression_of(const Trace& trace, const Step& step, const CellReference& cell);

}  // namespace qkv::inline exposition
