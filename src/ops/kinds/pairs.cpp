#include "ops/kinds/pairs.hpp"

namespace qkv {

Form form_of_pairs(const Call& call, std::string_view formula) {
  const Tensor& a = *call.inputs[0];
  const Tensor& b = *call.inputs[1];
  const bool one_row = b.rows() == 1 && a.rows() != 1;
  const bool one_column = b.columns() == 1 && a.columns() != 1;
  const std::string_view second = one_row && one_column ? "1 1"
                                  : one_row             ? "1 column"
                                  : one_column          ? "row 1"
                                                        : "row column";
  return {{"row column", second}, "row column", std::string(formula)};
}

}  // namespace qkv
