#include "ops/layers/project.hpp"

#include "ops/kinds/cellwise_back.hpp"
#include "ops/kinds/product_back.hpp"

namespace qkv {
namespace {

// Y = X·W: dX = dY·Wᵀ, dW = Xᵀ·dY.
struct ToRows {
  static constexpr std::string_view axes[] = {"row column", "row inner", "inner column"};
  static constexpr Factor left{arriving, false}, right{first_need, true};
};

struct ToWeight {
  static constexpr std::string_view axes[] = {"row column", "inner column", "row inner"};
  static constexpr Factor left{first_need, true}, right{arriving, false};
};

// Y = X·Wᵀ, the weight being stored out × in: dX = dY·W, dW = dYᵀ·X.
struct ToRowsOutIn {
  static constexpr std::string_view axes[] = {"row column", "row inner", "column inner"};
  static constexpr Factor left{arriving, false}, right{first_need, false};
};

struct ToWeightOutIn {
  static constexpr std::string_view axes[] = {"row column", "column inner", "row inner"};
  static constexpr Factor left{arriving, true}, right{first_need, false};
};

constexpr Operation words_of_rows{
    .title = "Back to what was projected",
    .says =
        "Each number of a row went into every column of the projection, by the weight between "
        "the two. The gradient comes back by the same weights.",
    .notice = "The weight is turned over, compared with the way there.",
};

constexpr Operation words_of_weight{
    .title = "Back to the weight",
    .says =
        "A weight was used once for every token: the gradient adds up, over the tokens, what "
        "went in times the gradient of what came out.",
    .notice = "It has the weight's own shape. One step of training subtracts a little of it.",
};

constinit const Operation to_rows = product_gradient<ToRows>(words_of_rows);
constinit const Operation to_rows_out_in = product_gradient<ToRowsOutIn>(words_of_rows);
constinit const Operation to_weight = product_gradient<ToWeight>(words_of_weight);
constinit const Operation to_weight_out_in = product_gradient<ToWeightOutIn>(words_of_weight);

struct ToBias : PassBack {
  static Form form(const Call&) {
    return {{"row column", "1 column"},
            "row column",
            "the sums of the columns of {0}",
            "the sums of the rows of {0}"};
  }
};

constinit const Operation to_bias = gradient_of<Gradient<ToBias>>({
    .title = "Back to the bias",
    .says = "The bias was added to every token's row, so its gradient is the sum of all rows'.",
    .notice = "One number for each feature.",
    .mistakes = cellwise_back_mistakes<ToBias>,
});

}  // namespace

WayBack back_through_project(const Use& use) {
  const bool out_in = use.options->word("layout", "in-out") == "out-in";
  if (use.operand == 0) return {out_in ? &to_rows_out_in : &to_rows, {1}};
  if (use.operand == 1) return {out_in ? &to_weight_out_in : &to_weight, {0}};
  return {&to_bias};
}

}  // namespace qkv
