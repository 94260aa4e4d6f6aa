#include "lesson/model/guess.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace qkv {
namespace {

// " cat" in quotes, since it is another token than "cat".
std::string with_its_blanks(const std::string& token) {
  const bool has_blanks = token.starts_with(' ') || token.ends_with(' ');
  return has_blanks ? fmt::format("\"{}\"", token) : token;
}

}  // namespace

std::string word_of(std::string_view label, std::size_t id) {
  return label.empty() ? fmt::format("<{}>", id) : std::string(label);
}

std::vector<Guess> likeliest_of(const Tensor& probabilities, std::size_t count) {
  const std::size_t width = std::min(probabilities.columns(), probabilities.values.size());
  const std::size_t last = probabilities.values.size() - width;
  std::vector<std::size_t> ids(width);
  std::iota(ids.begin(), ids.end(), std::size_t{0});
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(std::min(count, width));
  const auto share = [&](std::size_t id) {
    const double value = probabilities.values[last + id];
    return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
  };
  std::partial_sort(ids.begin(), end, ids.end(), [&](std::size_t a, std::size_t b) {
    return share(a) != share(b) ? share(a) > share(b) : a < b;
  });
  std::vector<Guess> guesses;
  for (auto id = ids.begin(); id != end; ++id) {
    guesses.push_back({.word = word_of(probabilities.axes.back().label(*id, 0), *id),
                       .id = *id,
                       .share = probabilities.values[last + *id]});
  }
  return guesses;
}

std::string likeliest_text(const Tensor& probabilities, std::size_t count) {
  std::string text;
  for (const Guess& guess : likeliest_of(probabilities, count)) {
    text += fmt::format("{}{} ({:.1f} %)", text.empty() ? "" : ", ", with_its_blanks(guess.word),
                        100 * guess.share);
  }
  return text;
}

}  // namespace qkv
