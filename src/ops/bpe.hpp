#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace qkv {

/// One token of a byte-pair encoding: its id, and the text that it stands for.
struct BpeToken {
  double id = 0;
  std::string text;
};

/// GPT-2's byte-level byte-pair encoding (Radford et al. 2019; Sennrich, Haddow and Birch 2016):
/// the text is cut into words by GPT-2's own pattern, each word into bytes, and the pairs that
/// stand earliest in the list of merges are joined first.
class BytePairEncoder {
 public:
  /// From vocab.json and merges.txt. Throws InputError where they are no such files.
  BytePairEncoder(std::string_view vocab_json, std::string_view merges_txt);
  /// From Hugging Face's tokenizer.json, which holds both.
  explicit BytePairEncoder(std::string_view tokenizer_json);

  /// Throws InputError for a piece that the vocabulary does not have.
  std::vector<BpeToken> encode(std::string_view text) const;

 private:
  void add_merge(std::string_view line);
  std::vector<std::string> merged(std::vector<std::string> pieces) const;

  std::unordered_map<std::string, double> ids_;
  std::unordered_map<std::string, std::size_t> ranks_;  // of "left right"
};

/// The words of GPT-2's pattern: contractions, letters, digits and other marks, each with the blank
/// before it, and runs of blanks. Together they are the text.
std::vector<std::string_view> gpt2_words(std::string_view text);

}  // namespace qkv
