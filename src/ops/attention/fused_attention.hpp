#pragma once

#include <optional>
#include <span>

#include "ops/operation.hpp"
#include "ops/result.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline ops {

/// What an operation can be in an attention: from the scores, by any steps in between, to the
/// weights, and to the values that these mix.
enum class AttentionPart { none, scores, between, weights, result };
AttentionPart attention_part(const Operation& operation);

/// One step of an attention of which only the last one's result is looked at. What the one before
/// it made, its first operand, has axes but no numbers.
struct FusedStep {
  const Operation* operation = nullptr;
  Call call;
  const InPlaceKernel* work = nullptr;  ///< of one in between: as `fused_step` gave it
};

/// The result of such a step without its numbers, and of one in between how it makes them of the
/// step before. Nothing where it is none, or where there are so few numbers that they may as well
/// be kept. Throws InputError where the shapes do not fit.
std::optional<InPlaceKernel> fused_step(const Operation& operation, const Call& call);

/// What comes of it: the last step's result, and the weights for those who ask after all, a row at
/// a time.
struct FusedAttention {
  Tensor result;
  Values weights;
};

/// Works it out, the scores and weights of some queries at a time being made, used and forgotten:
/// the n × m numbers of a head are never there (as in Dao and others, 2022, FlashAttention, though
/// whole rows fit here). Keys that a mask hides from all of these queries are left out. Nothing
/// where the scores may become infinite.
std::optional<FusedAttention> fused_attention(std::span<const FusedStep> steps);

}  // namespace qkv::inline ops
