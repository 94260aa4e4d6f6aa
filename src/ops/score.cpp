#include "ops/catalogue.hpp"
#include "ops/shape_rule.hpp"
#include "tensor/matmul.hpp"

namespace qkv {
namespace {

struct Score {
  static Form form(const Call&) {
    return {{"query d_k", "key d_k"}, "query key", "{0} · {1}ᵀ", "{1}ᵀ · {0}"};
  }

  template <class N>
  static N cell(const Cell<N>& c) {
    const auto q = c(0);
    const auto k = c(1);
    return sum<N>(q.columns, [&](std::size_t t) { return q(c.row, t) * k(c.column, t); });
  }

  static Tensor compute(const Call& call) {
    Tensor scores = output_of(call, form(call));  // [query d_k]·[d_k key] → [query key]
    CellBase at{.call = &call, .output = &scores};
    const Tensor& q = *call.inputs[0];
    const Tensor& k = *call.inputs[1];
    const ProductSize size{q.rows(), q.columns(), k.rows()};
    for (at.matrix = 0; at.matrix < scores.matrices(); ++at.matrix) {
      multiply(q.matrix(at.matching(0)), k.matrix(at.matching(1)), scores.matrix(at.matrix), size,
               RightSide::transposed);
    }
    scores.dot_width = q.columns();
    return scores;
  }
};

}  // namespace

constinit const Operation score_operation{
    .name = "score",
    .title = "Score every query against every key",
    .says = "Each query is multiplied with each key, feature by feature, and the products are added: "
            "a dot product. A large score means that the query looks for what this key offers.",
    .notice = "Row by row: which key does each query match best?",
    .fewest = 2,
    .most = 2,
    .form = Score::form,
    .compute = Score::compute,
    .cell = readings_of<Score>(),
};

}  // namespace qkv
