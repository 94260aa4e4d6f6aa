#pragma once

#include <string_view>
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

/// Scores with every key hidden that comes after its query: a causal mask.
Tensor hidden_ahead(const Tensor& scores);
inline constexpr std::string_view hid_for_nothing =
    "Keys were hidden at a step that hides none.";
inline constexpr std::string_view nothing_to_hide = "Is a mask due here?";

/// The step's result along columns where it should go along rows, or the other way round.
std::vector<Tensor> along_other_axis(const Source& step);

}  // namespace qkv
