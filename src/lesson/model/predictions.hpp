#pragma once

#include "lesson/library.hpp"

namespace qkv::inline lesson {

/// Evaluates a model on an input, as far as decoding needs (`steps_for_decoding`).
using ReadInput = std::function<LoadedLesson(const ModelInput&)>;

/// Greedy decoding: returns the ids of the text and of `new_tokens` most likely tokens. With a
/// key-value cache, each token costs the work of one row. The text is read again for each token if
/// a new token rotates all keys anew, or if steps were set that have a row for each token. Throws
/// InputError if the model has no probabilities.
ModelInput greedy_decoding(const ModelInput& input, std::size_t new_tokens, const ReadInput& read);

/// Returns the steps that decoding needs.
RequestedSteps steps_for_decoding(const Recipe& recipe);

/// Returns the ids with their tokens; an id that no text produces gets its number.
TokenisedText tokenised_ids(const std::vector<std::size_t>& ids, const AxisLabels& tokens);

/// A predicted next token and its probability.
struct Prediction {
  std::string word;  ///< or the id, if it has no text
  std::size_t id = 0;
  double share = 0;
};

/// Returns the most likely tokens of the last row, best first; ties go to the lower id, NaN comes
/// last.
std::vector<Prediction> top_tokens(const Tensor& probabilities, std::size_t count);

/// Returns the recipe of the steps after `step`. Everything up to it becomes a given, the step's
/// own numbers last.
Recipe recipe_after(const LoadedLesson& loaded, const Step& step);

/// The effect of zeroing one head on the answer: the most likely token after the whole text.
struct Ablation {
  std::string step;                 ///< the zeroed step: "h0.context"
  std::optional<std::size_t> head;  ///< from 0; unset if the step has no heads
  double share = 0;                 ///< probability of the answer
  std::optional<double> loss = {};  ///< only if the model has targets
  Prediction prediction;            ///< the most likely token then
};

/// Zeroes each head of each context in turn, and evaluates all later steps again. Throws InputError
/// if no `probabilities` follow.
std::vector<Ablation> ablations(const LoadedLesson& loaded);

/// The model's prediction if this layer were its last.
struct LayerPrediction {
  std::string step;  ///< "h0.residual2"
  std::vector<Prediction> predictions;
};

/// Logit lens: applies the final norm and the logits' weights to each layer's residual stream.
/// Throws InputError unless the lesson is a model whose `probabilities` come from a normed stream.
std::vector<LayerPrediction> logit_lens(const LoadedLesson& loaded, std::size_t count);

/// Statistics of one attention head: means over the rows of its weights. The first row is left out,
/// since it may have no other token to attend to, unless it is the only one.
struct HeadStats {
  std::string step;                 ///< "h0.attention_weights"
  std::size_t matrix = 0;           ///< index of the step's matrix
  std::optional<std::size_t> head;  ///< from 0; unset if the step has no heads
  double entropy = 0;               ///< in nats: 0 attends to one token, ln n to n equally
  double largest = 0;               ///< the largest weight of a row
  double previous = 0;              ///< the weight of the previous token
  double first = 0;                 ///< the weight of the first token
  double itself = 0;                ///< the weight of the token itself
  /// First-order increase of the loss if the head's context were zeroed: −Σ d_context ∘ context
  /// over all its cells. 0 without gradients.
  double helps = 0;
  bool is_variant = false;  ///< a lesson's own step beside those of its model (`h0.…`)
};

/// A measure to sort heads by: its name and its member of HeadStats. The largest come first; for
/// entropy, the smallest.
struct HeadMeasure {
  std::string_view name;
  double HeadStats::*value;
};
std::span<const HeadMeasure> head_measures();

/// Returns the measures available for a trace: those of the gradients only if it has them.
std::span<const HeadMeasure> head_measures(const Trace& trace);

/// Returns the statistics of all heads of all attention weights in the trace, in order. A step
/// counts if its operation makes weights and its matrices are queries by keys. Those of a model
/// come before a lesson's variants of them.
std::vector<HeadStats> head_stats(const Trace& trace);

}  // namespace qkv::inline lesson
