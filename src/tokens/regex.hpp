#pragma once

#include <memory>
#include <string_view>
#include <vector>

namespace qkv::inline tokens {

/// A regular expression of those that tokenizer.json cuts a text with: alternatives, groups
/// `(?:…)` and `(?i:…)`, classes with `\p{L}`, `\s`, `\d` and ranges, the repeats `?`, `*`, `+` and
/// `{1,3}` (also those that give nothing back, `++`), what follows or doesn't, `(?=…)` and `(?!…)`.
class CutPattern {
 public:
  struct Node;

  /// Throws InputError for what is none, or more than that.
  explicit CutPattern(std::string_view written);
  ~CutPattern();

  /// The pieces of the text: what the pattern finds, from left to right, and what lies between.
  /// Throws InputError where the text is not UTF-8, and where finding takes too long.
  std::vector<std::string_view> pieces(std::string_view text) const;

 private:
  std::unique_ptr<const Node> root_;
};

}  // namespace qkv::inline tokens
