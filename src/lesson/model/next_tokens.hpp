#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lesson/library.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline lesson {

/// What a model reads, worked out as far as writing on needs it (`steps_for_decoding`).
using ReadInput = std::function<LoadedLesson(const ModelInput&)>;

/// The ids of the text and of `new_tokens` tokens, each time the likeliest. Keys and values are
/// kept, so that each token costs the work of one row; where a token more turns all keys anew, or
/// steps were set that have a row for each token, the text is read anew for each. Throws InputError
/// where the lesson's model makes no probabilities.
ModelInput greedy_decoding(const ModelInput& input, std::size_t new_tokens, const ReadInput& read);

/// The steps that writing on looks at.
RequestedSteps steps_for_decoding(const Recipe& recipe);

/// The ids with what they stand for: the labels of `probabilities`.
TokenisedText tokenised_ids(const std::vector<std::size_t>& ids, const Tensor& probabilities);

/// What the model has written, as a person would.
std::string continuation_text(const ModelInput& input, const TokenisedText& cut,
                              std::size_t new_tokens, const Recipe& recipe);

/// A token that may come next, and how likely it is.
struct Prediction {
  std::string word;  ///< or its id, where it has none
  std::size_t id = 0;
  double share = 0;
};

/// What an id stands for; `<id>` where its label is blank.
std::string word_of(std::string_view label, std::size_t id);

/// The likeliest of the last row, the first of them first; of several as likely that of the lower
/// id. What is not a number is the least likely.
std::vector<Prediction> top_tokens(const Tensor& probabilities, std::size_t count);

/// The same in a line: `B (97.5 %), A (2.4 %), " C" (0.1 %)`.
std::string top_tokens_text(const Tensor& probabilities, std::size_t count);

}  // namespace qkv::inline lesson
