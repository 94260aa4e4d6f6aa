#include "ops/catalogue.hpp"
#include "ops/shape_rule.hpp"
#include "tensor/matmul.hpp"

namespace qkv {
namespace {

constexpr std::string_view layouts[] = {"in-out", "out-in"};
constexpr OptionRule project_options[] = {
    {.name = "layout",
     .says = "how the weight is stored: in × out, or out × in as PyTorch's nn.Linear does",
     .list = layouts},
};

bool stored_out_in(const Call& call) {
  return call.options->word("layout", "in-out") == "out-in";
}

struct Project {
  static Form form(const Call& call) {
    const bool turned = stored_out_in(call);
    Form form{{"row inner", turned ? "column inner" : "inner column"},
              "row column",
              turned ? "{0} · {1}ᵀ" : "{0} · {1}",
              turned ? "{1}ᵀ · {0}" : "{1} · {0}"};
    if (call.inputs.size() == 3) {
      form.operands.push_back("1 column");
      form.formula += " + {2}";
      form.turned += " + {2}";
    }
    return form;
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const auto x = c(0);
    const auto w = c(1);
    const bool turned = stored_out_in(*c.call);
    N result = sum<N>(x.columns, [&](std::size_t t) {
      return x(c.row, t) * (turned ? w(c.column, t) : w(t, c.column));
    });
    if (c.call->inputs.size() == 3) result = result + c(2)(0, c.column);
    return result;
  }

  static Tensor compute(const Call& call) {
    Tensor result = output_of(call, form(call));  // [row inner]·[inner column] → [row column]
    CellBase at{.call = &call, .output = &result};
    const Tensor& x = *call.inputs[0];
    const Tensor& w = *call.inputs[1];
    const ProductSize size{result.rows(), x.columns(), result.columns()};
    const RightSide right = stored_out_in(call) ? RightSide::transposed : RightSide::as_is;
    for (at.matrix = 0; at.matrix < result.matrices(); ++at.matrix) {
      multiply(x.matrix(at.matching(0)), w.matrix(at.matching(1)), result.matrix(at.matrix), size,
               right);
      if (call.inputs.size() == 3) {
        add_to_each_row(result.matrix(at.matrix), call.inputs[2]->matrix(at.matching(2)));
      }
    }
    return result;
  }

  static void add_to_each_row(std::span<double> matrix, std::span<const double> bias) {
    for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] += bias[i % bias.size()];
  }
};

}  // namespace

constinit const Operation project_operation{
    .name = "project",
    .title = "Project into another space",
    .says = "Each token's vector is multiplied by a matrix of weights. Every token is treated alike "
            "and by itself: rows do not mix, features do.",
    .notice = "As many rows as before; as many columns as the weights have.",
    .fewest = 2,
    .most = 3,
    .options = project_options,
    .form = Project::form,
    .compute = Project::compute,
    .cell = readings_of<Project>(),
};

}  // namespace qkv
