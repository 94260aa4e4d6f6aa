#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace qkv {

/// A token beside the pairs, such as <|endoftext|>: it is looked for before the text is cut.
struct AddedToken {
  std::string text;
  double id = 0;
  bool takes_blanks_before = false;  ///< Hugging Face's lstrip
  bool takes_blanks_after = false;   ///< and rstrip
};

/// What the files of a byte-level byte-pair encoding say. Tokens are written in GPT-2's letters,
/// one for each byte: "Ġcat" is " cat".
struct BpeFiles {
  std::unordered_map<std::string, double> ids;
  std::vector<std::pair<std::string, std::string>> merges;  ///< the first is joined first
  std::vector<AddedToken> added = {};
  bool adds_blank = false;  ///< the first word gets a blank before it, as every other has
};

/// From GPT-2's vocab.json and merges.txt (encoder.json and vocab.bpe, as OpenAI calls them).
/// Throws InputError where they are no such files.
BpeFiles bpe_files(std::string_view vocab_json, std::string_view merges_txt);

/// From Hugging Face's tokenizer.json, which holds both. Throws InputError for a file of another
/// kind (WordPiece, Unigram, a normaliser, another way to cut), with what it has.
BpeFiles bpe_files(std::string_view tokenizer_json);

}  // namespace qkv
