#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lesson/library.hpp"
#include "lesson/model/next_tokens.hpp"
#include "trace/trace.hpp"

namespace qkv::inline lesson {

/// What comes after a step, to be worked out again: all that the lesson has up to the step are
/// givens, the step's own numbers the last of them.
Recipe recipe_after(const LoadedLesson& loaded, const Step& step);

/// What becomes of the answer, the likeliest token after the whole text, without one head.
struct Ablation {
  std::string step;                 ///< whose head is 0: "h0.context"
  std::optional<std::size_t> head;  ///< from 0; nothing where the step has no heads
  double share = 0;                 ///< of the answer
  std::optional<double> loss = {};  ///< where the model has targets
  Prediction prediction;            ///< the likeliest then
};

/// Each head of each context switched off, one at a time, and all that follows worked out again.
/// Throws InputError where no `probabilities` follow.
std::vector<Ablation> ablations(const LoadedLesson& loaded);

/// What the model would guess after a layer, if that were its last.
struct LayerPrediction {
  std::string step;  ///< "h0.residual2"
  std::vector<Prediction> predictions;
};

/// Each layer's stream through the last norm and the table of the logits (the logit lens). Throws
/// InputError where the lesson is no model whose `probabilities` are made of a normed stream.
std::vector<LayerPrediction> logit_lens(const LoadedLesson& loaded, std::size_t count);

/// Where one head looks, over all tokens of a text but the first, which may have nothing else to
/// look at: means over the rows of its weights.
struct HeadStats {
  std::string step;                 ///< "h0.attention_weights"
  std::size_t matrix = 0;           ///< which of the step's matrices
  std::optional<std::size_t> head;  ///< from 0; nothing where the step has no heads
  double entropy = 0;               ///< in nats: 0 looks at one token, ln n at n alike
  double largest = 0;               ///< the largest weight of a row
  double previous = 0;              ///< what the token right before gets
  double first = 0;                 ///< what the first token gets
  double itself = 0;                ///< what the token itself gets
  /// How much the loss would grow, to first order, if the head's context were 0: −Σ d_context ∘
  /// context over all its cells. 0 where there are no gradients.
  double helps = 0;
};

/// One way to sort heads: the measure's name and where it stands in a habit; those first that have
/// most of it (of entropy, least).
struct HeadMeasure {
  std::string_view name;
  std::string_view says;
  double HeadStats::*value;
};
std::span<const HeadMeasure> head_measures();

/// Those that can be told of a trace: what needs the loss's gradients only where they are.
std::span<const HeadMeasure> head_measures(const Trace& trace);

/// The habits of all heads of all attention weights in the trace, in its order. A step counts whose
/// operation makes weights and whose matrices are queries by keys.
std::vector<HeadStats> head_stats(const Trace& trace);

/// What the head does with more than half of its attention, in words: "mostly the token before";
/// empty where it is nothing simple.
std::string_view head_summary(const HeadStats& stats);

}  // namespace qkv::inline lesson
