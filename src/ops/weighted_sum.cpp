#include "ops/catalogue.hpp"
#include "ops/product.hpp"

namespace qkv {
namespace {

struct WeightedSum {
  static Form form(const Call&) {
    return {{"query key", "key d_v"}, "query d_v", "{0} · {1}", "{1} · {0}"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    return product_cell(c);
  }

  static Tensor compute(const Call& call) {
    return product(call, form(call));  // [query key]·[key d_v] → [query d_v]
  }
};

}  // namespace

constinit const Operation weighted_sum_operation{
    .name = "weighted_sum",
    .title = "Mix the values with the weights",
    .says = "Every token's new vector is the sum of all the value vectors, each taken as often as "
            "its weight says. A weight of 0 leaves a token out; a weight of 1 copies it.",
    .notice = "Each number lies between the smallest and the largest of its column of values.",
    .fewest = 2,
    .most = 2,
    .form = WeightedSum::form,
    .compute = WeightedSum::compute,
    .cell = readings_of<WeightedSum>(),
};

}  // namespace qkv
