#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::inline tokens {

/// A regular expression of those that tokenizer.json cuts a text with: alternatives, groups
/// `(?:…)` and `(?i:…)`, classes with `\p{L}`, `\s`, `\d` and ranges, the repeats `?`, `*`, `+` and
/// `{1,3}` (also those that give nothing back, `++`), what follows or doesn't, `(?=…)` and `(?!…)`.
class TokenRegex {
 public:
  struct Node;

  /// Throws InputError for what is none, or more than that.
  explicit TokenRegex(std::string_view written);
  ~TokenRegex();

  /// The pieces of the text: what the pattern finds, from left to right, and what lies between.
  /// Throws InputError where the text is not UTF-8, and where finding takes too long.
  std::vector<std::string_view> pieces(std::string_view text) const;

 private:
  std::unique_ptr<const Node> root_;
};

/// How a text is prepared and cut into the words whose pieces are joined.
struct PreTokenizerConfig {
  /// Where a blank, or the mark for one, is put before the text.
  enum class PrependScheme { as_it_is, once, unless_there, always };
  enum class Words { gpt2, patterns, at_blanks, none };

  bool normalises_nfc =
      false;               ///< letters and their accents become one character, as Unicode's NFC
  std::string blank = {};  ///< what stands for a blank: "▁"; empty: itself
  PrependScheme start = PrependScheme::as_it_is;
  Words words = Words::gpt2;
  std::vector<std::shared_ptr<const TokenRegex>> patterns = {};  ///< one after the other
};

/// Cuts texts so.
class PreTokenizer {
 public:
  explicit PreTokenizer(PreTokenizerConfig pre_tokenizer) : config_(std::move(pre_tokenizer)) {}

  /// The words of a part of the text, the first part or a later one (added tokens stand between).
  /// Throws InputError where it is not UTF-8.
  std::vector<std::string> words(std::string_view text, bool is_first) const;

  /// A token's letters with blanks where their mark stands.
  std::string with_blanks(std::string_view letters) const;

 private:
  std::string prepared(std::string_view text, bool is_first) const;

  PreTokenizerConfig config_;
};

}  // namespace qkv::inline tokens
