#include "tokens/words.hpp"

#include "text/error.hpp"

namespace qkv::inline tokens {
namespace {

enum class CharacterKind { letter, digit, blank, mark };

struct Character {
  CharacterKind kind;
  std::size_t bytes;
};

// As \p{L}, \p{N} and \s. Of the control characters only those that end a line or a cell are
// blanks, as in Unicode's White_Space. U+001C to U+001F are not: Python's `re` counts them, but not
// the `regex` of GPT-2's encoder, nor Hugging Face's.
CharacterKind kind_of(CodePoint code) {
  if ((code >= 0x09 && code <= 0x0d) || code == 0x85) return CharacterKind::blank;
  switch (category_group(code)) {
    case 'L': return CharacterKind::letter;
    case 'N': return CharacterKind::digit;
    case 'Z': return CharacterKind::blank;
    default: return CharacterKind::mark;
  }
}

Character character_at(std::string_view text) {
  const auto [code, bytes] = decode_code_point(text, 0);
  if (code == bad_byte) throw InputError("the text is not UTF-8; save it as UTF-8 and try again");
  return {kind_of(code), bytes};
}

// Returns the length of the run of that kind at the start of the text.
std::size_t run_of(std::string_view text, CharacterKind kind) {
  std::size_t length = 0;
  while (length < text.size()) {
    const Character next = character_at(text.substr(length));
    if (next.kind != kind) break;
    length += next.bytes;
  }
  return length;
}

std::size_t contraction(std::string_view text) {
  for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (text.starts_with(ending)) return ending.size();
  }
  return 0;
}

// A run of blanks is a word; a plain blank before a word belongs to that word.
std::size_t blanks(std::string_view text) {
  const std::size_t run = run_of(text, CharacterKind::blank);
  if (run == text.size()) return run;
  std::size_t last = 0;
  for (std::size_t at = 0; at < run; at += character_at(text.substr(at)).bytes) last = at;
  return last == 0 ? run : last;
}

std::size_t word_length(std::string_view text) {
  if (const std::size_t length = contraction(text)) return length;
  const std::size_t blank = text.front() == ' ' && text.size() > 1 ? 1 : 0;
  const CharacterKind kind = character_at(text.substr(blank)).kind;
  if (kind == CharacterKind::blank) return blanks(text);
  return blank + run_of(text.substr(blank), kind);
}

}  // namespace

std::vector<std::string_view> gpt2_words(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    words.push_back(text.substr(0, word_length(text)));
    text.remove_prefix(words.back().size());
  }
  return words;
}

bool is_blank(CodePoint code) { return kind_of(code) == CharacterKind::blank; }

std::size_t blanks_before(std::string_view text) { return run_of(text, CharacterKind::blank); }

std::size_t blanks_after(std::string_view text) {
  std::size_t start = text.size();
  while (start > 0) {
    const std::size_t at = last_character(text.substr(0, start));
    if (character_at(text.substr(at, start - at)).kind != CharacterKind::blank) break;
    start = at;
  }
  return text.size() - start;
}

namespace {

template <class Visit>
void each_code_point(std::string_view text, const Visit& visit) {
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = decode_code_point(text, at);
    if (code == bad_byte) throw InputError("the text is not UTF-8; save it as UTF-8 and try again");
    visit(code, text.substr(at, bytes));
    at += bytes;
  }
}

enum class TokenKind { word, joined, mark, unseen };

TokenKind token_kind(CodePoint code) {
  if (code == '\'' || code == 0x2019) return TokenKind::word;
  switch (category_group(code)) {
    case 'L':
    case 'N': return TokenKind::word;
    case 'M': return TokenKind::joined;
    case 'Z':
    case 'C':
      return utf8proc_category(code) == UTF8PROC_CATEGORY_CO ? TokenKind::mark : TokenKind::unseen;
    default: return TokenKind::mark;
  }
}

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  bool after_token = false;  // a combining mark belongs to the token before it
  each_code_point(text, [&](CodePoint code, std::string_view bytes) {
    const TokenKind kind = token_kind(code);
    const bool joins =
        (kind == TokenKind::word && in_word) || (kind == TokenKind::joined && after_token);
    if (joins) {
      words.back() += bytes;
    } else if (kind != TokenKind::unseen) {
      words.emplace_back(bytes);
    }
    if (kind != TokenKind::joined) in_word = kind == TokenKind::word;
    after_token = kind != TokenKind::unseen;
  });
  return words;
}

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> characters;
  CodePoint before = 0;
  CodePoint state = 0;
  each_code_point(text, [&](CodePoint code, std::string_view bytes) {
    const bool starts =
        characters.empty() || utf8proc_grapheme_break_stateful(before, code, &state);
    if (starts) {
      characters.emplace_back(bytes);
    } else {
      characters.back() += bytes;
    }
    before = code;
  });
  return characters;
}

}  // namespace qkv::inline tokens
