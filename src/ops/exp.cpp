#include <cmath>

#include "ops/catalogue.hpp"
#include "ops/shape_rule.hpp"

namespace qkv {
namespace {

struct Exp {
  static Form form(const Call&) { return {{"row column"}, "row column", "e^{0}"}; }

  template <class N>
  static N cell(const Cell<N>& c) {
    using std::exp;
    return exp(c(0)(c.row, c.column));
  }

  static Tensor compute(const Call& call) {
    return cell_by_cell(call, output_of(call, form(call)), cell<double>);
  }
};

}  // namespace

constinit const Operation exp_operation{
    .name = "exp",
    .title = "Raise e to each number",
    .says = "e ≈ 2.718 is raised to the power of each number. The result is never negative: 0 turns "
            "into 1, -1 into 0.3679, minus infinity into exactly 0.",
    .notice = "The order of the numbers stays; the gaps between them do not.",
    .form = Exp::form,
    .compute = Exp::compute,
    .cell = readings_of<Exp>(),
};

}  // namespace qkv
