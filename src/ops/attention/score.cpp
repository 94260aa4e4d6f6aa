#include "ops/attention/score.hpp"
#include "ops/catalogue.hpp"
#include "ops/heads/grouped_queries.hpp"
#include "ops/heads/head_axis.hpp"
#include "ops/kinds/formula.hpp"
#include "ops/kinds/product.hpp"
#include "ops/kinds/product_back.hpp"

namespace qkv {
namespace {

struct Score : ProductMaths<RightSide::transposed> {
  static Form form(const Call&) {
    return {.operands = {"query d_k", "key d_k"},
            .output = "query key",
            .formula = "{0} · {1}ᵀ",
            .turned = "{1}ᵀ · {0}",
            .shares_heads = true};
  }

  static Tensor compute(const Call& call) {
    // [query d_k]·[d_k key] → [query key]
    Tensor scores = product(call, form(call), RightSide::transposed);
    scores.dot_width = call.inputs[0]->columns();
    return scores;
  }
};

std::vector<Tensor> not_transposed(const Source& step) {
  if (step.operand(0).columns() != step.operand(1).rows()) return {};
  return {matmul_operation.compute(call_of(step))};
}

std::vector<Tensor> swapped(const Source& step) {
  const std::size_t heads = heads_of(step.operand(0));
  const bool are_shared = heads > heads_of(step.operand(1)) && heads_of(step.operand(1)) > 1;
  const Tensor keys = are_shared ? dealt_in_group(step.operand(1), heads) : step.operand(1);
  Call call = call_of(step);
  call.inputs = {&keys, call.inputs[0]};
  return {Score::compute(call)};
}

std::vector<Tensor> unprojected(const Source& step) {
  const Source* q = behind(step.inputs[0], project_operation);
  const Source* k = behind(step.inputs[1], project_operation);
  if (!q || !k) return {};
  Call call = call_of(step);
  call.inputs = {&q->operand(), &k->operand()};
  Tensor scores = Score::compute(call);
  const std::size_t heads = step.tensor ? step.tensor->matrices() : 1;
  if (scores.matrices() == heads || scores.matrices() != 1) return {std::move(scores)};
  Tensor repeated = by_matrix(  // every head has the same scores then
      *step.tensor, [&](const MatrixView&) -> Matrix { return scores.matrix(0); });
  return {std::move(repeated), std::move(scores)};  // or has them once, for all heads
}

constexpr Mistake score_mistakes[] = {
    {"score.not-transposed", "Q was multiplied by K instead of Kᵀ.",
     "A score is a row of Q times a row of K.", not_transposed},
    {"score.swapped", "This is K·Qᵀ: queries and keys have changed places.",
     "Rows of the scores belong to queries, columns to keys.", swapped},
    {"score.unprojected", "The embeddings were multiplied with themselves: X·Xᵀ.",
     "Scores come from Q and K, not from X.", unprojected},
    tiled_heads,
    first_head_only,
    repeated_tokens,
    other_heads,
    needless_mask(),
};

// S = Q·Kᵀ: dQ = dS·K, dK = dSᵀ·Q.
struct ToQueries {
  static constexpr std::string_view axes[] = {"query key", "query d_k", "key d_k"};
  static constexpr Factor left{arriving, false}, right{first_need, false};
};

struct ToKeys {
  static constexpr std::string_view axes[] = {"query key", "key d_k", "query d_k"};
  static constexpr Factor left{arriving, true}, right{first_need, false};
};

constinit const Operation score_to_queries = product_gradient<ToQueries>({
    .title = "Back to the queries",
    .says = "A query met every key. So its gradient is all keys added up, each as often as the "
            "gradient of the score between the two says.",
    .notice = "A query whose scores have no gradient learns nothing.",
});

constinit const Operation score_to_keys = product_gradient<ToKeys>({
    .title = "Back to the keys",
    .says = "A key met every query. So its gradient is all queries added up, each as often as the "
            "gradient of the score between the two says: the gradients of the scores are turned "
            "over.",
    .notice = "A key that is hidden from every query gets 0.",
});

WayBack back_through_score(const Use& use) {
  if (use.operand == 0) return {&score_to_queries, {1}};
  return {&score_to_keys, {0}};
}

}  // namespace

constinit const Operation score_operation = operation_of<Score>({
    .name = "score",
    .title = "Score every query against every key",
    .says =
        "Each query is multiplied with each key, feature by feature, and the products are added: "
        "a dot product. A large score means that the query looks for what this key offers.",
    .notice = "Which key does each query match best?",
    .operands = R"(["Q", "K"])",
    .fewest = 2,
    .most = 2,
    .mistakes = score_mistakes,
    .way_back = back_through_score,
});

}  // namespace qkv
