#pragma once

#include "lesson/library.hpp"

namespace qkv::inline exposition {

enum class Notation { text, latex };

struct ArithmeticStyle {
  int digits = 4;             ///< decimals of results
  std::size_t max_terms = 0;  ///< longer sums lose their middle on every line; 0 keeps all
  Notation notation = Notation::text;
  std::string_view minus = "-";  ///< the sign of a negative number; typeset_minus in print
};

bool is_product_of_cells(const Expression& term);

/// Returns how a kind of term is written in ASCII: "*" or "exp"; empty for numbers and cells.
std::string_view sign_of(Expression::Kind kind);

/// The calculation of one cell, one line per stage: cell names, their numbers, then one operation
/// after the other, down to the result. Example: `Q[cat,1]·W[1,2] + …`, `0.5·2 + …`, `1 + …`,
/// `1.25`. A sign is ≈ if the numbers printed on the line above give another number on this one,
/// worked out on paper and rounded alike: 0.0879·2 = 0.1758 where this line has 0.1759.
struct CellArithmetic {
  std::string cell;  ///< `scores[cat,fat]`
  double value = 0;
  std::vector<std::string> lines = {};       ///< without the cell's name and the sign
  std::vector<std::string_view> signs = {};  ///< before each line: = or ≈, as the notation has it
  double from_printed = 0;  ///< the result of the numbers that the second line prints
  std::string remark = {};  ///< what the arithmetic cannot show: why the cell is masked

  /// Returns the numbers and how they become the result: `0.5·2 + 0.25·1 = 1 + 0.25 = 1.25`. Of a
  /// copied number the names.
  std::string on_one_line() const;
};

/// Returns the text of a number as LaTeX writes it: 2.5e-3 is `2.5 \cdot 10^{-3}`.
std::string latex_number(double value, const std::string& text);

/// True if the step's products print the weight first, as with tokens as columns: W·x.
bool writes_weight_first(const Trace& trace, const Step& step);

/// Returns the arithmetic of a step's cell. A given has one line: its number.
CellArithmetic arithmetic_of(const Trace& trace, const CellReference& cell,
                             const ArithmeticStyle& look);

/// Returns a cell's expression tree; its leaves name the operands of the step's call.
Expression expression_of(const Trace& trace, const Step& step, const CellReference& cell);

/// How the loss depends on a number through one cell.
struct CellSensitivity {
  std::size_t index = 0;  ///< its index in the step's values
  double derivative = 0;  ///< of the cell with respect to the number
};

/// The cells of one step through which the number affects the loss.
struct StepSensitivity {
  std::string name;
  std::vector<CellSensitivity> cells;
  double largest = 0;  ///< magnitude of a derivative
};

struct Sensitivity {
  CellReference cell;  ///< the number's cell
  std::vector<StepSensitivity>
      steps;                 ///< in the lesson's order; empty if the loss does not depend on it
  std::size_t left_out = 0;  ///< steps in between that were too large to keep
};

/// Returns the cells through which the number of `gradient` affects the loss: those that depend on
/// it and have a gradient that is not 0. Their derivatives are central differences: all later steps
/// are recomputed with the number slightly larger and smaller. Nothing if the cell is not a
/// gradient of a given or step, or if it cannot be recomputed.
std::optional<Sensitivity> sensitivity_of(const LoadedLesson& loaded,
                                          const CellReference& gradient);

/// Returns a step's first cells as text, with no-break spaces in them: "2 of 9: [fat,the] -0.5, …".
std::string sensitivity_text(const StepSensitivity& step, const Trace& trace, int digits);

}  // namespace qkv::inline exposition
