#include "ops/catalogue.hpp"
#include "ops/formula.hpp"
#include "ops/other_heads.hpp"
#include "ops/product.hpp"
#include "ops/score_chain.hpp"
#include "ops/shape_rule.hpp"

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
    const Tensor& q = *call.inputs[0];
    const Tensor& k = *call.inputs[1];
    const ProductSize size{q.rows(), q.columns(), k.rows()};
    multiply_each(scores.matrices(), size, [&](std::size_t m) {
      const CellBase at{.call = &call, .output = &scores, .matrix = m};
      multiply(q.cells(at.matching(0)), k.cells(at.matching(1)), scores.write_cells(m), size,
               RightSide::transposed);
    });
    scores.dot_width = q.columns();
    return scores;
  }

  static std::optional<Range> range(const Call& call, std::span<const Bounds> operands,
                                    const Tensor& result) {
    return product_range(call, operands, result, RightSide::transposed);
  }
};

std::vector<Tensor> not_transposed(const Source& step) {
  const Tensor& q = *step.inputs[0]->tensor;
  const Tensor& k = *step.inputs[1]->tensor;
  if (q.columns() != k.rows()) return {};
  Call call = call_of(step);
  return {matmul_operation.compute(call)};
}

std::vector<Tensor> swapped(const Source& step) {
  Call call = call_of(step);
  std::swap(call.inputs[0], call.inputs[1]);
  return {Score::compute(call)};
}

std::vector<Tensor> unprojected(const Source& step) {
  const Source* q = behind(step.inputs[0], project_operation);
  const Source* k = behind(step.inputs[1], project_operation);
  if (!q || !k) return {};
  Call call = call_of(step);
  call.inputs = {q->inputs[0]->tensor, k->inputs[0]->tensor};
  Tensor scores = Score::compute(call);
  const std::size_t heads = step.tensor ? step.tensor->matrices() : 1;
  if (scores.matrices() == heads || scores.matrices() != 1) return {std::move(scores)};
  Tensor repeated = by_matrix(  // every head has the same scores then
      *step.tensor, [&](const MatrixView&) -> Matrix { return scores.matrix(0); });
  return {std::move(repeated), std::move(scores)};  // or has them once, for all heads
}

// A causal mask where the lesson has none.
std::vector<Tensor> scores_masked(const Source& step) { return {hidden_ahead(*step.tensor)}; }

constexpr Mistake score_mistakes[] = {
    {"score.not-transposed", "Q was multiplied by K instead of Kᵀ.",
     "A score is a row of Q times a row of K.", not_transposed},
    {"score.swapped", "This is K·Qᵀ: queries and keys have changed places.",
     "Rows of the scores belong to queries, columns to keys.", swapped},
    {"score.unprojected", "The embeddings were multiplied with themselves: X·Xᵀ.",
     "Scores come from Q and K, not from X.", unprojected},
    {"heads.other", took_another_head, which_head, with_other_heads},
    {"mask.needless", hid_for_nothing, nothing_to_hide, scores_masked},
};

}  // namespace

constinit const Operation score_operation{
    .name = "score",
    .title = "Score every query against every key",
    .says =
        "Each query is multiplied with each key, feature by feature, and the products are added: "
        "a dot product. A large score means that the query looks for what this key offers.",
    .notice = "Which key does each query match best?",
    .operands = R"(["Q", "K"])",
    .fewest = 2,
    .most = 2,
    .form = Score::form,
    .compute = Score::compute,
    .cell = readings_of<Score>(),
    .range = Score::range,
    .mistakes = score_mistakes,
};

}  // namespace qkv
