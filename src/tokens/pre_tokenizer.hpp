#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::inline tokens {

/// A regular expression as in tokenizer.json. It knows alternatives, groups `(?:…)` and `(?i:…)`,
/// classes with `\p{L}`, `\s`, `\d` and ranges, lookahead `(?=…)` and `(?!…)`, and the repeats `?`,
/// `*`, `+` and `{1,3}`, also possessive (`++`).
class TokenRegex {
 public:
  struct Node;

  /// Throws InputError for invalid expressions and for other syntax.
  explicit TokenRegex(std::string_view written);
  ~TokenRegex();

  /// Splits a text into the matches, from left to right, and the parts between them. Throws
  /// InputError if the text is not UTF-8 or matching takes too long.
  std::vector<std::string_view> pieces(std::string_view text) const;

 private:
  std::unique_ptr<const Node> root_;
};

/// Settings of the pre-tokenizer: how a text is normalised and split into words.
struct PreTokenizerConfig {
  /// When a blank, or its replacement, is put before the text.
  enum class PrependScheme { as_it_is, once, unless_there, always };
  enum class Words { gpt2, patterns, at_blanks, none };

  /// Unicode's NFC: a letter and its accents become one character.
  bool normalises_nfc = false;
  std::string blank = {};  ///< replacement of a blank: "▁"; empty: none
  PrependScheme start = PrependScheme::as_it_is;
  Words words = Words::gpt2;
  std::vector<std::shared_ptr<const TokenRegex>> patterns = {};  ///< applied one after the other
};

class PreTokenizer {
 public:
  explicit PreTokenizer(PreTokenizerConfig pre_tokenizer) : config_(std::move(pre_tokenizer)) {}

  /// Splits one part of a text, between added tokens, into words. `is_first` marks the first part.
  /// Throws InputError if the text is not UTF-8.
  std::vector<std::string> words(std::string_view text, bool is_first) const;

  /// Replaces the marks in a token's letters by blanks.
  std::string with_blanks(std::string_view letters) const;

 private:
  std::string prepared(std::string_view text, bool is_first) const;

  PreTokenizerConfig config_;
};

}  // namespace qkv::inline tokens
