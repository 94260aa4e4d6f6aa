#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"
#include "lesson/model/predictions.hpp"

namespace qkv::inline terminal {

/// How heads and layers are shown.
struct HeadsStyle {
  std::size_t width = 80;
  int digits = 4;
  std::size_t pictures = 12;  ///< the first heads of the list get a glyph pattern
};

/// Returns a line for each ablated head: the answer's probability without it, the most likely token
/// without it, and the loss, if there is one.
std::string ablations_text(const Lesson& lesson, const Prediction& answer,
                           const std::vector<Ablation>& ablations, std::optional<double> loss,
                           const HeadsStyle& look);
std::string ablations_json(const Lesson& lesson, const Prediction& answer,
                           const std::vector<Ablation>& ablations, std::optional<double> loss);

/// Returns the logit lens: for each layer the most likely tokens if it were the last, in lines of
/// at most the width.
std::string logit_lens_text(const Lesson& lesson, const std::vector<LayerPrediction>& logit_lens,
                            const HeadsStyle& look);

/// Returns a table of head statistics, then the first heads' attention weights as glyphs.
std::string heads_text(const Lesson& lesson, const Trace& trace,
                       const std::vector<HeadStats>& habits, const HeadsStyle& look);

/// The same numbers as a JSON list of objects.
std::string heads_json(const Lesson& lesson, const Trace& trace,
                       const std::vector<HeadStats>& habits);

}  // namespace qkv::inline terminal
