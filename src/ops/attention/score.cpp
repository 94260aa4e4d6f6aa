#include "ops/attention/score.hpp"

#include "ops/heads/grouped_queries.hpp"
#include "ops/heads/head_axis.hpp"
#include "ops/kinds/product.hpp"

namespace qkv::inline ops {
namespace {

// The step's result without the nearest `skipped` operation of the chain; empty if there is none.
std::vector<Tensor> without(const StepView& step, const Operation& skipped) {
  std::vector<const StepView*> links = {&step};
  while (links.back()->operation != &skipped) {
    const StepView& link = *links.back();
    if (link.inputs.empty() || link.operation == &score_operation) return {};
    links.push_back(link.inputs[0]);
  }
  if (links.size() < 2) return {};
  Tensor result = links.back()->operand();
  links.pop_back();
  for (; !links.empty(); links.pop_back()) result = with_operand(*links.back(), 0, result);
  return {std::move(result)};
}

// The scores with a causal mask; the first query is that of key `first`.
Tensor causally_masked(const Tensor& scores, std::size_t first) {
  return by_matrix(scores, [&](const MatrixView& s) -> Matrix {
    return xt::where(causal_pattern(s, static_cast<int>(first)), s, -infinity);
  });
}

}  // namespace

std::vector<Tensor> unscaled(const StepView& step) { return without(step, scale_operation); }
std::vector<Tensor> unmasked(const StepView& step) { return without(step, mask_operation); }

std::vector<Tensor> masked_afterwards(const StepView& step) {
  const StepView* masked = upstream(&step, mask_operation);
  std::vector<Tensor> results = without(step, mask_operation);
  for (Tensor& result : results) {  // a mask for each head makes several of one matrix
    Call call = call_of(step);
    call.inputs = {masked->tensor, &result};
    result = by_operands(call, *step.tensor, [](const Operands& of) -> Matrix {
      return xt::where(xt::isinf(of(0)), 0.0, of(1));
    });
  }
  return results;
}

BoolMatrix causal_pattern(const MatrixView& scores, int ahead) {
  return xt::tril(xt::ones<bool>({scores.shape(0), scores.shape(1)}), ahead);
}

std::vector<Tensor> causally_masked_either_way(const Tensor& scores) {
  std::vector<Tensor> results = {causally_masked(scores, 0)};
  if (1 < scores.rows() && scores.rows() < scores.columns()) {
    results.push_back(causally_masked(scores, scores.columns() - scores.rows()));
  }
  return results;
}

std::vector<Tensor> needless_causal_mask(const StepView& step) {
  return causally_masked_either_way(*step.tensor);
}

std::vector<Tensor> along_other_axis(const StepView& step) {
  Call call = call_of(step);
  Options other_axis = *call.options;
  const bool down = other_axis.word("axis", "rows") == "columns";
  other_axis.set("axis", std::string(down ? "rows" : "columns"));
  call.options = &other_axis;
  return {step.operation->compute(call)};
}

namespace {

struct ScoreAxes {
  static constexpr std::string_view result = "query key";
  static constexpr std::string_view first = "query d_k", second = "key d_k";
  static constexpr RightSide right = RightSide::transposed;
  static constexpr bool shares_heads = true;
};

struct Score : ProductMaths<ScoreAxes> {
  static Tensor compute(const Call& call) {
    Tensor scores = ProductMaths::compute(call);  // [query d_k]·[d_k key] → [query key]
    scores.dot_width = call.inputs[0]->columns();
    return scores;
  }
};

std::vector<Tensor> not_transposed(const StepView& step) {
  if (step.operand(0).columns() != step.operand(1).rows()) return {};
  return {matmul_operation.compute(call_of(step))};
}

// The keys, once for each head of the queries where these share them.
Tensor keys_of_heads(const StepView& step) {
  const Tensor& keys = step.operand(1);
  const std::size_t heads = head_count(step.operand(0));
  const bool are_shared = heads > head_count(keys) && head_count(keys) > 1;
  return are_shared ? repeat_interleaved(keys, heads) : keys;
}

std::vector<Tensor> of_operands(const StepView& step, const Tensor& q, const Tensor& k) {
  Call call = call_of(step);
  call.inputs = {&q, &k};
  return {Score::compute(call)};
}

std::vector<Tensor> swapped(const StepView& step) {
  return of_operands(step, keys_of_heads(step), step.operand(0));
}

std::vector<Tensor> queries_only(const StepView& step) {
  return of_operands(step, step.operand(0), step.operand(0));
}

std::vector<Tensor> keys_only(const StepView& step) {
  const Tensor keys = keys_of_heads(step);
  return of_operands(step, keys, keys);
}

std::vector<Tensor> unprojected(const StepView& step) {
  const StepView* q = upstream(step.inputs[0], project_operation);
  const StepView* k = upstream(step.inputs[1], project_operation);
  if (!q || !k) return {};
  Tensor scores = of_operands(step, q->operand(), k->operand()).front();
  const std::size_t heads = step.tensor ? step.tensor->matrices() : 1;
  if (scores.matrices() == heads || scores.matrices() != 1) return {std::move(scores)};
  Tensor repeated = by_matrix(  // either every head has the same scores
      *step.tensor, [&](const MatrixView&) -> Matrix { return scores.matrix(0); });
  return {std::move(repeated), std::move(scores)};  // or has them once, for all heads
}

constexpr Mistake score_mistakes[] = {
    {"score.not-transposed", "{0} was multiplied by {1} instead of {1}ᵀ.",
     "A score is a row of queries times a row of keys.", not_transposed},
    {"score.swapped", "This is {1}·{0}ᵀ: queries and keys have changed places.",
     "Rows of the scores belong to queries, columns to keys.", swapped},
    {"score.same-operand", "The queries were multiplied with themselves: {0}·{0}ᵀ.",
     "A query meets the keys.", queries_only},
    {"score.same-operand", "The keys were multiplied with themselves: {1}·{1}ᵀ.",
     "A query meets the keys.", keys_only},
    {"score.unprojected", "The embeddings were multiplied with themselves: X·Xᵀ.",
     "Scores come from Q and K, not from X.", unprojected},
    tiled_heads,
    first_head_only,
    repeated_tokens,
    other_heads,
    needless_mask(),
};

struct GradQueries : ProductGradient<GradFirst<ScoreAxes>> {
  static constexpr GradientWords words{
      "Back to the queries",
      "A query met every key. So its gradient is all keys added up, each as often as the gradient "
      "of the score between the two says.",
      "A query whose scores have no gradient learns nothing."};
};

struct GradKeys : ProductGradient<GradSecond<ScoreAxes>> {
  static constexpr GradientWords words{
      "Back to the keys",
      "A key met every query. So its gradient is all queries added up, each as often as the "
      "gradient of the score between the two says: the gradients of the scores are turned over.",
      "A key that is hidden from every query gets 0."};
};

}  // namespace

constinit const Operation score_operation = operation_of<Score>({
    .name = "score",
    .title = "Score every query against every key",
    .says =
        "Each query is multiplied with each key, feature by feature, and the products are added: "
        "a dot product. A large score means that the query looks for what this key offers.",
    .notice = "Which key does each query match best?",
    .operands = R"(["Q", "K"])",
    .mistakes = score_mistakes,
    .backward = backward_by<GradQueries, GradKeys>,
});

}  // namespace qkv::inline ops
