#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"
#include "lesson/model/inspection.hpp"

namespace qkv::inline terminal {

/// A line for each head: how likely the answer is without it, and what is likeliest then; where
/// there is a loss, also that without the head.
std::string ablations_text(const Lesson& lesson, const Prediction& answer,
                           const std::vector<Ablation>& ablations, std::optional<double> loss,
                           int digits);
std::string ablations_json(const Lesson& lesson, const Prediction& answer,
                           const std::vector<Ablation>& ablations, std::optional<double> loss);

/// A line for each layer: the likeliest tokens, were it the last.
std::string glimpses_text(const Lesson& lesson, const std::vector<LayerPrediction>& logit_lens,
                          int digits);

/// How the list of heads looks.
struct HeadsStyle {
  std::size_t width = 80;
  int digits = 4;
  std::size_t pictures = 12;  ///< of so many heads at most, the first of the list
};

/// The habits as a table in the order given, and below it the weights of each head as dots, several
/// side by side.
std::string heads_text(const Lesson& lesson, const Trace& trace,
                       const std::vector<HeadStats>& habits, const HeadsStyle& look);

/// The same numbers for programs: a list of objects.
std::string heads_json(const Lesson& lesson, const Trace& trace,
                       const std::vector<HeadStats>& habits);

}  // namespace qkv::inline terminal
