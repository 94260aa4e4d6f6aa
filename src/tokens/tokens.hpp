#pragma once

#include "text/unicode.hpp"

struct pcre2_real_code_8;  // PCRE2's compiled expression

namespace qkv::inline tokens {

/// Splits a text into words (letters, digits, apostrophes) and single other visible characters.
/// Example: "the cat's mat." → the, cat's, mat, .
std::vector<std::string> words_of(std::string_view text);

/// Splits a text into grapheme clusters: an accent stays with its letter, an emoji in one piece.
std::vector<std::string> characters_of(std::string_view text);

/// Decodes the character at `at`. Throws InputError if the text is not UTF-8.
DecodedCodePoint text_character(std::string_view text, std::size_t at);

/// Return the number of bytes of the blanks (Unicode's White_Space) at the start and at the end of
/// the text.
std::size_t blanks_before(std::string_view text);
std::size_t blanks_after(std::string_view text);

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

/// How a text is normalised and split into words.
struct PreTokenizer {
  /// When a blank, or its replacement, is put before the text.
  enum class PrependScheme { as_it_is, once, unless_there, always };

  /// Unicode's NFC: a letter and its accents become one character.
  bool normalises_nfc = false;
  std::string blank = {};  ///< replacement of a blank: "▁"; empty: none
  PrependScheme start = PrependScheme::as_it_is;
  bool splits_at_blanks = false;          ///< before each replacement of a blank
  std::vector<TokenRegex> patterns = {};  ///< applied one after the other

  /// Splits one part of a text, between added tokens, into words. `is_first` marks the first part.
  /// Throws InputError if the text is not UTF-8.
  std::vector<std::string> words(std::string_view text, bool is_first) const;

 private:
  std::string prepared(std::string_view text, bool is_first) const;
};

/// A token outside the merges, such as <|endoftext|>. It is matched before the text is split.
struct AddedToken {
  std::string text;
  double id = 0;
  bool strips_left = false;   ///< Hugging Face's lstrip
  bool strips_right = false;  ///< Hugging Face's rstrip
  bool normalised = false;    ///< is looked for in the normalised text between the others
};

/// What a byte-pair encoding does beside its merges.
struct BpeSettings {
  PreTokenizer pre_tokenizer = {};
  std::vector<AddedToken> added = {};
  std::vector<AddedToken> before = {};  ///< added before every text, by the template
  std::vector<AddedToken> after = {};
  bool by_characters = false;
  bool ignore_merges = false;  ///< a word that is a token is not split
  bool byte_fallback = false;
  bool fuse_unknown = false;  ///< one token for several unknown characters side by side
};

/// The contents of the files of a byte-pair encoding. Byte tokens are written in GPT-2's
/// bytes_to_unicode letters ("Ġcat" is " cat"), character tokens as SentencePiece does ("▁cat").
struct BpeFiles {
  std::unordered_map<std::string, double> ids;
  std::vector<std::pair<std::string, std::string>> merges;  ///< by priority
  std::optional<std::string> unknown = {};
  BpeSettings settings = {};
};

/// Reads GPT-2's vocab.json and merges.txt (OpenAI's encoder.json and vocab.bpe). Throws InputError
/// for other contents.
BpeFiles bpe_files(std::string_view vocab_json, std::string_view merges_txt);

/// Reads Hugging Face's tokenizer.json, with its pre-tokenizer: GPT-2's, a regular expression as in
/// Llama 3 and Qwen, or SentencePiece's. Throws InputError for other kinds (WordPiece, Unigram,
/// another normaliser).
BpeFiles bpe_files(std::string_view tokenizer_json);

/// One token: its id and its text. Bytes of an incomplete character are written as "<0xF0><0x9F>".
struct BpeToken {
  double id = 0;
  std::string text;
};

/// Byte-pair encoding (Sennrich, Haddow and Birch 2016). Splits a text into words, and words into
/// bytes as GPT-2 does (Radford et al. 2019) or characters as SentencePiece does. Joins the pairs
/// in the order of the merges. Added tokens are matched first, the longest of several.
class BytePairEncoder {
 public:
  explicit BytePairEncoder(const BpeFiles& files);

  /// Returns the tokens of a text, in linear time (k log k for one word of k bytes). Throws
  /// InputError for a piece that the vocabulary lacks.
  std::vector<BpeToken> encode(std::string_view text) const;

  /// Returns the texts of the ids below `count`; empty for ids that no text produces.
  std::vector<std::string> texts(std::size_t count) const;

 private:
  using Symbol = std::uint32_t;
  using Symbols = std::vector<Symbol>;
  struct Merge {
    std::uint32_t rank;
    Symbol joined;
  };
  struct Piece {  // the text of a symbol
    std::string letters;
    std::optional<double> id;
  };
  struct Part {  // of a text: an added token, or what is between two
    std::string_view text;
    const AddedToken* token = nullptr;
  };
  class Word;
  using Known = std::unordered_map<std::string, Symbols>;

  Symbol symbol_of(const std::string& letters, const BpeFiles& files);
  const Merge* merge_of(Symbol left, Symbol right) const;
  Symbols symbols_of(const std::string& word) const;
  Symbols joined(const std::string& word) const;
  std::string text_of(const Piece& piece) const;
  std::vector<Part> cut_at_added(std::string_view text, bool is_normalised) const;
  void encode_part(std::string_view text, bool is_first, Known& known,
                   std::vector<BpeToken>& tokens) const;

  std::vector<Piece> pieces_;
  std::unordered_map<std::string, Symbol> symbols_;
  std::unordered_map<std::uint64_t, Merge> merges_;  // by left and right symbol
  std::vector<Symbol> bytes_;
  std::optional<Symbol> unknown_;
  BpeSettings settings_;  // of the added tokens the longest first
};

/// Returns the encoder of vocab.json and merges.txt, or of a tokenizer.json alone. The last ones
/// are cached, so that files are read once if a lesson is evaluated again. Throws like the
/// constructors.
std::shared_ptr<const BytePairEncoder> byte_pair_encoder(
    std::string_view vocab_or_tokenizer_json,
    std::optional<std::string_view> merges_txt = std::nullopt);

}  // namespace qkv::inline tokens
