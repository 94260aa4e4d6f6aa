#pragma once

#include "ops/kinds/line.hpp"

namespace qkv::inline ops {

/// Mistakes between the scores and the weights. The chain is the step, the step that made its first
/// operand, and so on, back to the scores.

/// Return the mistakes of a chain without its scale, or its mask.
constexpr Mistake unscaled(std::string_view hint) {
  return {"softmax.unscaled", "The scores went in before they were scaled.", hint,
          SkipUpstream{&scale_operation}};
}
constexpr Mistake unmasked(std::string_view hint) {
  return {"softmax.unmasked", "The mask was ignored.", hint, SkipUpstream{&mask_operation}};
}

/// Returns the first operand times a number.
inline Versions multiplied_by(const StepView& step, double factor) {
  return {with_numbers(step.operand(), step.operand().array() * factor)};
}

/// Return the exponents, the first operand, by a mistake: those of another base, since b^x is
/// e^(x · ln b); with the other sign, but for -inf; with 0 in place of -inf, if there are any.
Versions times_ln_2(const StepView& step);
Versions times_ln_10(const StepView& step);
Versions negated(const StepView& step);
Versions hidden_as_0(const StepView& step);
inline constexpr Mistake hidden_taken_as_0{"mask.zero", "-inf was taken as 0.",
                                           "e to the power of -inf is 0, and e^0 is 1.",
                                           Operand{0, hidden_as_0}};

/// Returns the step's result from unmasked scores, its hidden cells then set to 0.
Versions masked_afterwards(const StepView& step);

/// Returns the scores with a causal mask: with the queries as the first tokens and, if fewer than
/// the keys, as the last ones.
Versions causally_masked_either_way(const Tensor& scores);
/// Returns the step's result with a causal mask that the lesson does not have.
Versions needless_causal_mask(const StepView& step);

/// Returns the mistake of a mask that is not expected; `change` gives its numbers.
constexpr Mistake needless_mask(const Change& change = needless_causal_mask) {
  return {"mask.needless",
          "Keys were hidden at a step that hides none.",
          "Does this step have a mask?",
          change,
          {.infinities = true}};
}

/// True if the softmax has sinks, e^x / (Σ e^x + e^sink): a number per head that joins the sum of
/// each of its lines and gets no weight itself.
bool has_sinks(const Call& call);

/// Returns the sink of the matrix's head.
double sink_of(const Call& call, std::size_t matrix);

/// Rescales the `weights` of a line of scores from those without the sink to those with it.
void share_with_sink(std::span<const double> scores, std::span<double> weights, double sink);

/// Returns the weights of a weighted sum with the sink's given to the first key, or to the last
/// one.
Versions sinks_in_values(const StepView& step);

/// Returns e^(S − m_old) of a tile's weights: those with the maximum before the tile.
Versions weights_by_old_max(const StepView& weights);

/// Computes the softmax of a row; zeros if all is hidden. The last digits of a large tensor's rows
/// are never compared: those take a faster way.
void softmax_of_row(std::span<const double> scores, std::span<double> weights, bool is_large);

/// A number that joins the sum of each line of a head and gets no weight of its own.
template <class N>
using Sink = std::optional<N>;

/// Returns number `i` of a line's softmax, e^(x_i − top) / Σ_j e^(x_j − top). The top is the line's
/// largest number: any other gives the same, but this one never overflows. 0 if all is hidden.
template <class N>
N softmax_cell(const Line<N>& line, std::size_t i, const Sink<N>& sink = {});
template <>
Interval softmax_cell(const Line<Interval>& line, std::size_t i, const Sink<Interval>& sink);

/// Returns the backward rule of softmax, to its scores or to its sinks.
BackwardRule softmax_backward(const OperandRef& use);

/// Returns the backward rule of normalise: to its numbers, or to their sums if given.
BackwardRule normalise_backward(const OperandRef& use);

/// The role of an operation in attention; `result` is the weighted sum of the values.
enum class AttentionPart { none, scores, between, weights, result };
AttentionPart attention_part(const Operation& operation);

/// One step of an attention block of which only the last result is needed. Its first operand, the
/// result of the step before, has axes but no values.
struct FusedStep {
  const Operation* operation = nullptr;
  Call call;
};

/// Returns the axes of such a step's result, but for the last one. Nothing if the step can't be
/// fused: its operation has no role, or the scores are few enough to be stored. Throws InputError
/// if the shapes do not fit.
std::optional<Tensor> fused_frame(const Operation& operation, const Call& call);

/// The last step's result, and the weights, recomputed a row at a time on demand.
struct FusedAttention {
  Tensor result;
  Values weights;
};

/// Computes attention some query rows at a time, without storing the scores and weights (as in Dao
/// and others, 2022, FlashAttention, though whole rows fit here). Skips keys that a mask hides from
/// all of these queries. Returns nothing if the scores may become infinite.
std::optional<FusedAttention> fused_attention(std::span<const FusedStep> steps);

}  // namespace qkv::inline ops
