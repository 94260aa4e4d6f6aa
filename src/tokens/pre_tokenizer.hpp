#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct pcre2_real_code_8;  // PCRE2's compiled expression

namespace qkv::inline tokens {

/// A regular expression as in tokenizer.json, matched by PCRE2. It knows alternatives, groups
/// `(?:…)` and `(?i:…)`, classes with `\p{L}`, `\s`, `\d` and ranges, lookahead `(?=…)` and
/// `(?!…)`, and repeats, also possessive (`++`) and lazy (`+?`).
class TokenRegex {
 public:
  /// Throws InputError for invalid expressions, and for what Oniguruma reads otherwise than PCRE2.
  explicit TokenRegex(std::string_view written);

  /// Splits a text into the matches, from left to right, and the parts between them. Throws
  /// InputError if the text is not UTF-8 or matching takes too long.
  std::vector<std::string_view> pieces(std::string_view text) const;

 private:
  std::shared_ptr<pcre2_real_code_8> code_;
};

/// GPT-2's pattern: contractions, letters, digits and other marks, each with the blank before it,
/// and runs of blanks. Example: "it's  3 cats" → it, 's, ␣, ␣3, ␣cats.
const TokenRegex& gpt2_pattern();

/// Settings of the pre-tokenizer: how a text is normalised and split into words.
struct PreTokenizerConfig {
  /// When a blank, or its replacement, is put before the text.
  enum class PrependScheme { as_it_is, once, unless_there, always };

  /// Unicode's NFC: a letter and its accents become one character.
  bool normalises_nfc = false;
  std::string blank = {};  ///< replacement of a blank: "▁"; empty: none
  PrependScheme start = PrependScheme::as_it_is;
  bool splits_at_blanks = false;          ///< before each replacement of a blank
  std::vector<TokenRegex> patterns = {};  ///< applied one after the other
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
