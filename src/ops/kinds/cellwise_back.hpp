#pragma once

#include <string_view>

#include "ops/kinds/gradient.hpp"

namespace qkv {

/// The axes of an operand that may be one row, one column or one number.
std::string_view axes_that_repeat(const Tensor& operand);

/// The number of an operand that belongs to a cell: of one row, one column or one number the one
/// that repeats.
template <class N>
N repeated(const MatrixOf<N>& operand, const CellBase& c) {
  return operand(operand.rows == 1 ? 0 : c.row, operand.columns == 1 ? 0 : c.column);
}

/// The form of a gradient whose cells each go back to the cell in the same place.
Form cellwise_form(const Call& call, std::string formula);

/// The gradient that arrives, as it is: through a sum, to either operand.
struct PassBack {
  static Form form(const Call& call) { return cellwise_form(call, "{0}"); }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(arriving)(c.row, c.column);
  }

  static Tensor compute(const Call& call, Tensor whole);
};

/// What learners forget where a row or a head is repeated in such a gradient.
template <class Maths>
inline constexpr Mistake cellwise_back_mistakes[] = {heads_not_summed<Maths>,
                                                     rows_not_summed<Maths>};

}  // namespace qkv
