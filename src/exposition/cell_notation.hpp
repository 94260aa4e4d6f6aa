#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "ops/numbers/expression.hpp"

namespace qkv {

enum class Notation { text, latex };

struct ArithmeticLook {
  int digits = 4;              ///< decimals of the numbers worked out
  std::size_t most_terms = 0;  ///< longer sums lose their middle, on every line; 0 keeps all
  Notation notation = Notation::text;
  std::string_view minus = "-";  ///< the sign of a negative number; typeset_minus where it is print
};

/// How the arithmetic of a step's cells is written.
struct CellNotation {
  const ArithmeticLook& look;
  bool weight_first = false;  ///< of a product of two cells the second factor first: W·x
  std::function<std::string(const CellPlace&)> name;  ///< of a cell that it is made of
};

/// A term at one stage of the calculation: at stage 0 with the names of its cells, at stage s with
/// every part worked out that takes fewer than s strides.
std::string written_at(std::size_t stage, const Expression& term, const CellNotation& notation);

bool is_product_of_cells(const Expression& term);

/// `scores[cat,fat]` in LaTeX: scores with an index below it.
std::string latex_cell(std::string_view reference);

}  // namespace qkv
