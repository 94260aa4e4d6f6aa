#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/tensor.hpp"

namespace qkv {

/// A token that may come next, and how likely it is.
struct Guess {
  std::string word;  ///< or its id, where it has none
  std::size_t id = 0;
  double share = 0;
};

/// What an id stands for; `<id>` where its label is blank.
std::string word_of(std::string_view label, std::size_t id);

/// The likeliest of the last row, the first of them first; of several as likely that of the lower
/// id. What is not a number is the least likely.
std::vector<Guess> likeliest_of(const Tensor& probabilities, std::size_t count);

/// The same in a line: `B (97.5 %), A (2.4 %), " C" (0.1 %)`.
std::string likeliest_text(const Tensor& probabilities, std::size_t count);

}  // namespace qkv
