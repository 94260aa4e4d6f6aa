#pragma once

#include <cstdint>
#include <memory>
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
  bool strips_left = false;   ///< Hugging Face's lstrip
  bool strips_right = false;  ///< and rstrip
};

/// What the files of a byte-pair encoding say. Tokens of bytes are written in GPT-2's letters, one
/// for each byte: "Ġcat" is " cat"; tokens of characters as SentencePiece does: "▁cat".
struct BpeFiles {
  std::unordered_map<std::string, double> ids;
  std::vector<std::pair<std::string, std::string>> merges;  ///< the first is joined first
  std::vector<AddedToken> added = {};
  std::vector<AddedToken> before = {};  ///< that every text begins with, as a template says
  std::vector<AddedToken> after = {};
  PreTokenizerConfig pre_tokenizer = {};
  bool by_characters = false;
  bool ignore_merges = false;  ///< a word that is a token is not built from pairs
  bool byte_fallback = false;
  bool fuse_unknown = false;  ///< one token for several unknown characters side by side
  std::optional<std::string> unknown = {};
};

/// From GPT-2's vocab.json and merges.txt (encoder.json and vocab.bpe, as OpenAI calls them).
/// Throws InputError where they are no such files.
BpeFiles bpe_files(std::string_view vocab_json, std::string_view merges_txt);

/// From Hugging Face's tokenizer.json, which holds both, and how the text is cut: GPT-2's kind,
/// Llama 3's and Qwen's with a pattern of their own, SentencePiece's. Throws InputError for a file
/// of another kind (WordPiece, Unigram, another normaliser), with what it has.
BpeFiles bpe_files(std::string_view tokenizer_json);

/// One token of a byte-pair encoding: its id, and the text that it stands for; bytes that are only
/// a part of a character are written out, "<0xF0><0x9F>".
struct BpeToken {
  double id = 0;
  std::string text;
};

/// Byte-pair encoding (Sennrich, Haddow and Birch 2016): the text is cut into words, each word into
/// bytes as GPT-2 does (Radford et al. 2019) or into characters as SentencePiece does, and the
/// pairs that stand earliest in the list of merges are joined first. Added tokens are taken out
/// before, the longest where several begin at one place.
class BytePairEncoder {
 public:
  explicit BytePairEncoder(const BpeFiles& files);
  /// From vocab.json and merges.txt. Throws InputError where they are no such files.
  BytePairEncoder(std::string_view vocab_json, std::string_view merges_txt)
      : BytePairEncoder(bpe_files(vocab_json, merges_txt)) {}
  /// From Hugging Face's tokenizer.json, which holds both.
  explicit BytePairEncoder(std::string_view tokenizer_json)
      : BytePairEncoder(bpe_files(tokenizer_json)) {}

  /// In time that grows with the text (a single word of k bytes: k log k). Throws InputError for a
  /// piece that the vocabulary does not have.
  std::vector<BpeToken> encode(std::string_view text) const;

  /// The texts of the ids below `count`; empty for those that no text leads to.
  std::vector<std::string> texts(std::size_t count) const;

 private:
  using Symbol = std::uint32_t;
  using Symbols = std::vector<Symbol>;
  struct Merge {
    std::uint32_t rank;
    Symbol joined;
  };
  struct Piece {  // what a symbol stands for
    std::string letters;
    std::optional<double> id;
    std::size_t bytes;
  };
  class Word;
  using Known = std::unordered_map<std::string, Symbols>;

  Symbol symbol_of(const std::string& letters, const BpeFiles& files);
  const Merge* merge_of(Symbol left, Symbol right) const;
  Symbols symbols_of(const std::string& word) const;
  Symbols joined(const std::string& word) const;
  std::string text_of(const Piece& piece) const;
  void encode_part(std::string_view text, bool is_first, Known& known,
                   std::vector<BpeToken>& tokens) const;
  const AddedToken* added_at(std::string_view text) const;

  std::vector<Piece> pieces_;
  std::unordered_map<std::string, Symbol> symbols_;
  std::unordered_map<std::uint64_t, Merge> merges_;  // of left and right
  std::vector<Symbol> bytes_;
  PreTokenizer pre_tokenizer_;
  std::vector<AddedToken> added_;  // the longest first
  std::vector<AddedToken> before_;
  std::vector<AddedToken> after_;
  std::optional<Symbol> unknown_;
  bool by_characters_ = false;
  bool ignore_merges_ = false;
  bool byte_fallback_ = false;
  bool fuse_unknown_ = false;
};

/// The encoder of vocab.json and merges.txt, or of a tokenizer.json alone. The latest ones are
/// kept, so that files are read once however often a lesson is worked out. Throws like the
/// constructors.
std::shared_ptr<const BytePairEncoder> byte_pair_encoder(
    std::string_view vocab_or_tokenizer_json,
    std::optional<std::string_view> merges_txt = std::nullopt);

}  // namespace qkv::inline tokens
