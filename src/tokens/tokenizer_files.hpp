#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tokens/pre_tokenizer.hpp"

namespace qkv::inline tokens {

/// A token beside the pairs, such as <|endoftext|>: it is looked for before the text is cut.
struct AddedToken {
  std::string text;
  double id = 0;
  bool takes_blanks_before = false;  ///< Hugging Face's lstrip
  bool takes_blanks_after = false;   ///< and rstrip
};

/// What the files of a byte-pair encoding say. Tokens of bytes are written in GPT-2's letters, one
/// for each byte: "Ġcat" is " cat"; tokens of characters as SentencePiece does: "▁cat".
struct BpeFiles {
  std::unordered_map<std::string, double> ids;
  std::vector<std::pair<std::string, std::string>> merges;  ///< the first is joined first
  std::vector<AddedToken> added = {};
  std::vector<AddedToken> before = {};  ///< that every text begins with, as a template says
  std::vector<AddedToken> after = {};
  Cutting cutting = {};
  bool by_characters = false;
  bool takes_whole_words = false;  ///< a word that is a token is not built from pairs
  bool falls_back_to_bytes = false;
  bool fuses_unknown = false;  ///< one token for several unknown characters side by side
  std::optional<std::string> unknown = {};
};

/// From GPT-2's vocab.json and merges.txt (encoder.json and vocab.bpe, as OpenAI calls them).
/// Throws InputError where they are no such files.
BpeFiles bpe_files(std::string_view vocab_json, std::string_view merges_txt);

/// From Hugging Face's tokenizer.json, which holds both, and how the text is cut: GPT-2's kind,
/// Llama 3's and Qwen's with a pattern of their own, SentencePiece's. Throws InputError for a file
/// of another kind (WordPiece, Unigram, another normaliser), with what it has.
BpeFiles bpe_files(std::string_view tokenizer_json);

}  // namespace qkv::inline tokens
