#pragma once

#include <cstddef>
#include <vector>

#include "lesson/lesson.hpp"
#include "model/model.hpp"

namespace qkv {

/// What a model is to say after each token of its text.
struct Targets {
  bool are_next = false;              ///< the token that follows; after the last one nothing is due
  std::vector<std::size_t> ids = {};  ///< else an id for each token

  bool operator==(const Targets&) const = default;
};

/// Ids with what they stand for. One that no text leads to has its number. `option` opens messages.
/// Throws InputError for an id that the model has not.
CutText cut_text(const std::vector<std::size_t>& ids, std::size_t vocabulary,
                 const AxisLabels& tokens, std::string_view option);

/// Puts the given `targets`, the step `loss` and all gradients behind a model's steps. Where the
/// next tokens are the targets, the last row has none: `shift_logits` is all rows but that, as
/// PyTorch's programs have it. Throws InputError where the targets are not one for each token, or
/// are none of the model's `vocabulary` ids, which stand for `tokens`.
void add_loss(Lesson& lesson, const Targets& targets, std::size_t vocabulary,
              const AxisLabels& tokens);

/// The gradients again, where steps of the model's recipe have become givens: nothing flows through
/// those to what they were made of.
void go_back_again(Recipe& recipe, const Lesson& own);

}  // namespace qkv
