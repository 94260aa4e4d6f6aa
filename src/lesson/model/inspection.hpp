#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lesson/library.hpp"
#include "lesson/model/guess.hpp"

namespace qkv {

/// What comes after a step, to be worked out again: all that the lesson has up to the step are
/// givens, the step's own numbers the last of them.
Recipe recipe_behind(const LoadedLesson& loaded, const Step& step);

/// What becomes of the answer, the likeliest token after the whole text, without one head.
struct Ablation {
  std::string step;                 ///< whose head is 0: "h0.context"
  std::optional<std::size_t> head;  ///< from 0; nothing where the step has no heads
  double share = 0;                 ///< of the answer
  std::optional<double> loss = {};  ///< where the model has targets
  Guess guess;                      ///< the likeliest then
};

/// Each head of each context switched off, one at a time, and all that follows worked out again.
/// Throws InputError where no `probabilities` follow.
std::vector<Ablation> ablations(const LoadedLesson& loaded);

/// What the model would guess after a layer, if that were its last.
struct Glimpse {
  std::string step;  ///< "h0.residual2"
  std::vector<Guess> guesses;
};

/// Each layer's stream through the last norm and the table of the logits (the logit lens). Throws
/// InputError where the lesson is no model whose `probabilities` are made of a normed stream.
std::vector<Glimpse> glimpses(const LoadedLesson& loaded, std::size_t count);

}  // namespace qkv
