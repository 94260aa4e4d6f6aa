#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "lesson/library.hpp"

namespace qkv {

/// What a model reads, worked out as far as writing on needs it (`needed_to_continue`).
using ReadInput = std::function<LoadedLesson(const ModelInput&)>;

/// The ids of the text and of `further` tokens, each time the likeliest. Keys and values are kept,
/// so that each token costs the work of one row; where a token more turns all keys anew, or steps
/// were set that have a row for each token, the text is read anew for each. Throws InputError where
/// the lesson's model makes no probabilities.
ModelInput continued(const ModelInput& input, std::size_t further, const ReadInput& read);

/// The steps that writing on looks at.
WantedSteps needed_to_continue(const Recipe& recipe);

/// The ids with what they stand for: the labels of `probabilities`.
CutText cut_ids(const std::vector<std::size_t>& ids, const Tensor& probabilities);

/// What the model has written, as a person would.
std::string told_continuation(const ModelInput& input, const CutText& cut, std::size_t further,
                              const Recipe& recipe);

}  // namespace qkv
