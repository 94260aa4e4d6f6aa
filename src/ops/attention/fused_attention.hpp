#pragma once

#include <optional>
#include <span>

#include "ops/operation.hpp"
#include "ops/result.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// The role of an operation in attention; `result` is the weighted sum of the values.
enum class AttentionPart { none, scores, between, weights, result };
AttentionPart attention_part(const Operation& operation);

/// One step of an attention block of which only the last result is needed. Its first operand, the
/// result of the step before, has axes but no values.
struct FusedStep {
  const Operation* operation = nullptr;
  Call call;
  const InPlaceKernel* work = nullptr;  ///< of a step in between: from `fused_step`
};

/// Returns the axes of such a step's result and the kernel of a step in between. Nothing if the
/// operation has no role, or if the scores are few enough to be stored. Throws InputError if the
/// shapes do not fit.
std::optional<InPlaceKernel> fused_step(const Operation& operation, const Call& call);

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
