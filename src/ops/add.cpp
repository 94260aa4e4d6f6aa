#include <fmt/format.h>

#include "ops/catalogue.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

struct Add {
  static Form form(const Call&) { return {{"row column"}, "row column", "{0} + {1}"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    return c(0)(c.row, c.column) + c(1)(c.row, c.column);
  }

  static Tensor compute(const Call& call) {
    return cell_by_cell(call, output_of(call, form(call)), cell<double>);
  }
};

}  // namespace

constinit const Operation add_operation{
    .name = "add",
    .title = "Add, cell by cell",
    .says = "Two matrices of the same size are added, each cell to the cell in the same place.",
    .notice = "Every number comes from just two others.",
    .fewest = 2,
    .most = 2,
    .form = Add::form,
    .compute = Add::compute,
    .cell = readings_of<Add>(),
};

}  // namespace qkv
