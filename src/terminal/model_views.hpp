#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lesson/model/inspection.hpp"

namespace qkv {

/// A line for each head: how likely the answer is without it, and what is likeliest then; where
/// there is a loss, also that without the head.
std::string ablations_text(const Lesson& lesson, const Guess& answer,
                           const std::vector<Ablation>& ablations, std::optional<double> loss,
                           int digits);
std::string ablations_json(const Lesson& lesson, const Guess& answer,
                           const std::vector<Ablation>& ablations, std::optional<double> loss);

/// A line for each layer: the likeliest tokens, were it the last.
std::string glimpses_text(const Lesson& lesson, const std::vector<Glimpse>& glimpses, int digits);

}  // namespace qkv
