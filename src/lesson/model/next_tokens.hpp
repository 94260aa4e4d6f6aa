#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lesson/library.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline lesson {

/// Evaluates a model on an input, as far as decoding needs (`steps_for_decoding`).
using ReadInput = std::function<LoadedLesson(const ModelInput&)>;

/// Greedy decoding: returns the ids of the text and of `new_tokens` most likely tokens. With a
/// key-value cache, each token costs the work of one row. The text is read again for each token if
/// a new token rotates all keys anew, or if steps were set that have a row for each token. Throws
/// InputError if the model has no probabilities.
ModelInput greedy_decoding(const ModelInput& input, std::size_t new_tokens, const ReadInput& read);

/// Returns the steps that decoding needs.
RequestedSteps steps_for_decoding(const Recipe& recipe);

/// Returns the ids with their tokens: the labels of `probabilities`.
TokenisedText tokenised_ids(const std::vector<std::size_t>& ids, const Tensor& probabilities);

/// Returns the text that the model has appended, as readable text.
std::string continuation_text(const ModelInput& input, const TokenisedText& cut,
                              std::size_t new_tokens, const Recipe& recipe);

/// A predicted next token and its probability.
struct Prediction {
  std::string word;  ///< or the id, if it has no text
  std::size_t id = 0;
  double share = 0;
};

/// Returns the token of an id; `<id>` if its label is blank.
std::string word_of(std::string_view label, std::size_t id);

/// Returns the most likely tokens of the last row, best first; ties go to the lower id, NaN comes
/// last.
std::vector<Prediction> top_tokens(const Tensor& probabilities, std::size_t count);

/// Returns the same as one line: `B (97.5 %), A (2.4 %), " C" (0.1 %)`.
std::string top_tokens_text(const Tensor& probabilities, std::size_t count);

}  // namespace qkv::inline lesson
