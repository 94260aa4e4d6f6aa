#include "ops/attention/softmax.hpp"
#include "ops/heads/grouped_queries.hpp"
#include "ops/heads/head_axis.hpp"
#include "ops/kinds/product.hpp"

namespace qkv::inline ops {
namespace {

using WeightedSum = ProductMaths<WeightsTimesValues>;  // [query key]·[key d_v] → [query d_v]

Versions transposed_weights(const StepView& step) { return {transposed(step.operand())}; }

Versions keys_of_scores(const StepView& step) {
  const StepView* scores = upstream(step.inputs[0], score_operation);
  return scores ? Versions{scores->operand(1)} : Versions();
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
     "The attention weights mix the values V.", Operand{1, keys_of_scores}},
    {"weighted-sum.embeddings", "The embeddings were mixed instead of the values: A·X.",
     "The attention weights mix the values V.", Operand{1, embeddings}},
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

struct GradWeights : ProductGradient<GradFirst<WeightsTimesValues>> {
  static constexpr GradientWords words{
      "Back to the attention weights",
      "This says how much the loss would change if a query took more of a value. It is the dot "
      "product of the context's gradient and that value.",
      "Of which key should each query have taken less?"};
};

struct GradValues : ProductGradient<GradSecond<WeightsTimesValues>> {
  static constexpr GradientWords words{
      "Back to the values",
      "A value went to every query, times an attention weight. So its gradient is the sum of the "
      "queries' gradients, times the same weights.",
      "A value that no query looked at gets 0."};
};

}  // namespace

constinit const Operation weighted_sum_operation = operation_of<WeightedSum>({
    .name = "weighted_sum",
    .title = "Mix the values",
    .says = "Each row of the result is the sum of all values, each multiplied by its attention "
            "weight. A weight of 0 leaves a value out; a weight of 1 copies it.",
    .notice = "Each number lies between the smallest and the largest value of its column.",
    .operands = R"(["A", "V"])",
    .mistakes = weighted_sum_mistakes,
    .backward = backward_by<GradWeights, GradValues>,
});

}  // namespace qkv::inline ops
