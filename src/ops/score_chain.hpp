#pragma once

#include <vector>

#include "ops/mistake.hpp"

namespace qkv {

/// What mistakes between the scores and the weights have in common. The chain is the step, what its
/// first operand was made by, and so on, back to the scores.

/// The step's result if the nearest `skipped` operation before it had been left out; nothing where
/// there is none on the way.
std::vector<Tensor> without(const Source& step, const Operation& skipped);
/// That of the scale, and of the mask.
std::vector<Tensor> unscaled(const Source& step);
std::vector<Tensor> unmasked(const Source& step);

/// The step's result if nothing had been hidden before it, its hidden cells then set to 0.
std::vector<Tensor> hidden_afterwards(const Source& step);

/// The step's result along columns where it should go along rows, or the other way round.
std::vector<Tensor> along_other_axis(const Source& step);

/// Divides every matrix by the sum of all its cells.
Tensor shares_of_whole(Tensor tensor);

/// The tensor with 0 where it is minus infinity.
Tensor without_infinities(Tensor tensor);

}  // namespace qkv
