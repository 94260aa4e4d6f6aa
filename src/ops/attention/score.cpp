#include "ops/attention/softmax.hpp"

#include "ops/heads/head_axis.hpp"
#include "ops/kinds/product.hpp"

namespace qkv::inline ops {

Versions masked_afterwards(const StepView& step) {
  Versions results = without_upstream(step, mask_operation);
  if (results.empty()) return {};
  // The mask, or the part of it that a step between took.
  const StepView* masked = step.inputs.front();
  while (masked->operation != &mask_operation && !contains(masked->tensor->values, -infinity))
    masked = masked->inputs.front();
  if (masked->tensor->shape() != step.tensor->shape()) return {};
  for (Tensor& result : results) {  // a mask for each head makes several of one matrix
    Call call = call_of(step);
    call.inputs = {masked->tensor, &result};
    result = by_operands(call, *step.tensor, [](const Operands& of) -> Matrix {
      return xt::where(xt::isinf(of(0)), 0.0, of(1));
    });
  }
  return results;
}

Versions causally_masked_either_way(const Tensor& scores) {
  Versions results;
  for (const std::string first_or_last : {"start", "end"}) {
    const Options options = Options::of("align", first_or_last);
    results.push_back(mask_operation.compute(
        {.step = "", .inputs = {&scores}, .names = {"scores"}, .options = &options}));
    if (scores.rows() < 2 || scores.rows() >= scores.columns()) break;
  }
  return results;
}

Versions needless_causal_mask(const StepView& step) {
  return causally_masked_either_way(*step.tensor);
}

namespace {

struct ScoreAxes {
  static constexpr std::string_view result = "query key";
  static constexpr std::string_view first = "query d_k", second = "key d_k";
  static constexpr RightSide right = RightSide::transposed;
  static constexpr bool shares_heads = true, keeps_width = true;
};

using Score = ProductMaths<ScoreAxes>;  // [query d_k]·[d_k key] → [query key]

Versions queries(const StepView& step) { return {step.operand(0)}; }

// The keys, once for each head of the queries where these share them.
Versions keys(const StepView& step) {
  const Tensor& keys = step.operand(1);
  const std::size_t heads = head_count(step.operand(0));
  const bool are_shared = heads > head_count(keys) && head_count(keys) > 1;
  return {are_shared ? repeat_interleaved(keys, heads) : keys};
}

Versions of_operands(const StepView& step, const Tensor& q, const Tensor& k) {
  Call call = call_of(step);
  call.inputs = {&q, &k};
  return {Score::compute(call)};
}

Versions not_transposed(const StepView& step) {
  const Tensor k = keys(step).front();
  Call call = call_of(step);
  call.inputs[1] = &k;
  if (k.rows() != step.operand(0).columns()) return {};
  return {matmul_operation.compute(call)};
}

Versions swapped(const StepView& step) {
  return of_operands(step, keys(step).front(), step.operand(0));
}

Versions unprojected(const StepView& step) {
  const StepView* q = upstream(step.inputs[0], project_operation);
  const StepView* k = upstream(step.inputs[1], project_operation);
  if (!q || !k) return {};
  Versions results = of_operands(step, q->operand(), k->operand());
  const Tensor& scores = results.front();
  if (scores.matrices() == step.tensor->matrices() || scores.matrices() != 1) return results;
  Tensor repeated = by_matrix(  // either every head has the same scores
      *step.tensor, [&](const MatrixView&) -> Matrix { return scores.matrix(0); });
  results.insert(results.begin(), std::move(repeated));  // or has them once, for all heads
  return results;
}

// The scores of queries and keys that were not rotated, or of one of them.
Versions unrotated(const StepView& step) {
  const Versions q = without_upstream(*step.inputs[0], rope_operation);
  const Versions k = without_upstream(*step.inputs[1], rope_operation);
  if (q.empty() || k.empty()) return {};
  return {of_operands(step, q[0], k[0])[0], with_operand(step, 0, q[0]),
          with_operand(step, 1, k[0])};
}

// The values that the weights of these scores will mix.
Versions values_of_scores(const StepView& step) {
  const auto mixes = [&](const StepView& one) {
    return one.operation == &weighted_sum_operation &&
           upstream(one.inputs[0], score_operation) == &step;
  };
  const auto sum = std::ranges::find_if(step.all, mixes);
  return sum == step.all.end() ? Versions() : Versions{sum->operand(1)};
}

constexpr Mistake score_mistakes[] = {
    {"score.not-transposed", "{0} was multiplied by {1} instead of {1}ᵀ.",
     "A score is a row of queries times a row of keys.", not_transposed},
    {"score.swapped", "This is {1}·{0}ᵀ: queries and keys are swapped.",
     "Rows of the scores belong to queries, columns to keys.", swapped},
    {"score.same-operand", "The queries were multiplied with themselves: {0}·{0}ᵀ.",
     "Queries are compared with keys.", Operand{1, queries}},
    {"score.same-operand", "The keys were multiplied with themselves: {1}·{1}ᵀ.",
     "Queries are compared with keys.", Operand{0, keys}},
    {"score.values", "The values stood in place of the keys: {0}·Vᵀ.",
     "Queries are compared with keys.", Operand{1, values_of_scores}},
    {"score.unprojected", "The embeddings were multiplied with themselves: X·Xᵀ.",
     "Scores come from Q and K, not from X.", unprojected},
    {"rope.skipped", "Queries or keys were taken as they were before their rotation.",
     "Both are rotated before they are multiplied.", unrotated},
    tiled_heads,
    first_head_only,
    repeated_tokens,
    other_heads,
    needless_mask(),
};

constexpr GradientWords queries_words{
    "Back to the queries",
    "A query was multiplied with every key. So its gradient is the sum of all keys, each times "
    "the gradient of the score of the two.",
    "A query whose scores have gradient 0 has gradient 0, too."};

constexpr GradientWords keys_words{
    "Back to the keys",
    "A key was multiplied with every query. So its gradient is the sum of all queries, each "
    "times the gradient of the score of the two: the gradients of the scores are transposed.",
    "A key that is hidden from every query gets 0."};

using WeightedSum = ProductMaths<WeightsTimesValues>;  // [query key]·[key d_v] → [query d_v]

Versions transposed_weights(const StepView& step) { return {transposed(step.operand())}; }

// The queries or the keys of the scores behind the weights, rotated or not.
template <std::size_t k>
Versions factor_of_scores(const StepView& step) {
  const StepView* scores = upstream(step.inputs[0], score_operation);
  if (!scores) return {};
  Versions results = without_upstream(*scores->inputs[k], rope_operation);
  results.push_back(scores->operand(k));
  return results;
}

Versions values(const StepView& step) { return {step.operand(1)}; }

// A weight of 1 for every key, or for every one that is not hidden.
Versions equal_weights(const StepView& step) {
  const auto weights = step.operand().array();
  return {with_numbers(step.operand(), xt::ones_like(weights)),
          with_numbers(step.operand(), xt::where(xt::not_equal(weights, 0.0), 1.0, 0.0))};
}

Versions embeddings(const StepView& step) {
  const StepView* values = upstream(step.inputs[1], project_operation);
  return values ? Versions{values->operand()} : Versions();
}

// Each score matrix between the scores and the weights.
Versions scores_instead(const StepView& step) {
  Versions results;
  const StepView* scores = upstream(step.inputs[0], score_operation);
  const StepView* at = step.inputs[0];
  while (scores && at != scores && !at->inputs.empty()) {
    at = at->inputs[0];
    results.push_back(*at->tensor);
  }
  return results;
}

// The values rotated as the keys are.
Versions rotated_values(const StepView& step) {
  const StepView* scores = upstream(step.inputs[0], score_operation);
  const StepView* keys = scores ? upstream(scores->inputs[1], rope_operation) : nullptr;
  return keys ? Versions{with_operand(*keys, 0, step.operand(1))} : Versions();
}

constexpr Mistake weighted_sum_mistakes[] = {
    {"weighted-sum.transposed", "The attention weights were transposed: Aᵀ·V.",
     "A row of attention weights belongs to one query.", Operand{0, transposed_weights}},
    {"weighted-sum.keys", "The keys were mixed instead of the values: A·K.",
     "The attention weights mix the values V.", Operand{1, factor_of_scores<1>}},
    {"weighted-sum.queries", "The queries were mixed instead of the values: A·Q.",
     "The attention weights mix the values V.", Operand{1, factor_of_scores<0>}},
    {"weighted-sum.embeddings", "The embeddings were mixed instead of the values: A·X.",
     "The attention weights mix the values V.", Operand{1, embeddings}},
    {"weighted-sum.skipped", "The values were not mixed: this is V itself.",
     "Each row is a sum of all values, each times its attention weight.", values},
    {"weighted-sum.unweighted", "The values were added up without the attention weights.",
     "Multiply each value by its attention weight first.", Operand{0, equal_weights}},
    {"weighted-sum.scores", "The scores were used instead of the attention weights.",
     "First softmax, then the sum.", Operand{0, scores_instead}},
    {"rope.values-too", "The values were turned as well, as the keys are.",
     "Only queries and keys are turned; the values are mixed as they are.",
     Operand{1, rotated_values}},
    {"sink.in-values", "The sink's attention weight was given to a value.",
     "The sink has no value.", Operand{0, sinks_in_values}},
    tiled_heads,
    first_head_only,
    repeated_tokens,
    other_heads,
};

constexpr GradientWords weights_words{
    "Back to the attention weights",
    "This says how much the loss would change if a query took more of a value. It is the dot "
    "product of the context's gradient and that value.",
    "Of which key should each query have taken less?"};

constexpr GradientWords values_words{
    "Back to the values",
    "A value went to every query, times an attention weight. So its gradient is the sum of the "
    "queries' gradients, times the same weights.",
    "A value that no query looked at gets 0."};

}  // namespace

constinit const Operation score_operation = operation_of<Score>({
    .name = "score",
    .title = "Score every query with every key",
    .says = "Each query is multiplied with each key, number by number, and the products are "
            "added. This is a dot product. A large score means that the query matches the key.",
    .notice = "Which key does each query match best?",
    .operands = R"(["Q", "K"])",
    .mistakes = score_mistakes,
    .backward = backward_by<GradFirst<ScoreAxes, queries_words>, GradSecond<ScoreAxes, keys_words>>,
});

constinit const Operation weighted_sum_operation = operation_of<WeightedSum>({
    .name = "weighted_sum",
    .title = "Mix the values",
    .says = "Each row of the result is the sum of all values, each multiplied by its attention "
            "weight. A weight of 0 leaves a value out; a weight of 1 copies it.",
    .notice = "Where the weights sum to 1, each number lies between the smallest and the largest "
              "that the values have in its place.",
    .operands = R"(["A", "V"])",
    .mistakes = weighted_sum_mistakes,
    .backward = backward_by<GradFirst<WeightsTimesValues, weights_words>,
                            GradSecond<WeightsTimesValues, values_words>>,
});

}  // namespace qkv::inline ops
