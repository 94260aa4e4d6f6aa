#include "tokens/tokens.hpp"

#include "text/strings.hpp"

namespace qkv::inline tokens {
namespace {

// Of the control characters only those that end a line or a cell are White_Space. U+001C to U+001F
// are not: Python's `re` counts them, but not the `regex` of GPT-2's encoder, nor Hugging Face's.
bool is_white_space(CodePoint code) {
  return (code >= 0x09 && code <= 0x0d) || code == 0x85 || category_group(code) == 'Z';
}

template <class Visit>
void each_code_point(std::string_view text, const Visit& visit) {
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = text_character(text, at);
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

DecodedCodePoint text_character(std::string_view text, std::size_t at) {
  const DecodedCodePoint character = decode_code_point(text, at);
  if (character.code == bad_byte) {
    throw InputError("the text is not UTF-8; save it as UTF-8 and try again");
  }
  return character;
}

std::size_t blanks_before(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size()) {
    const auto [code, bytes] = text_character(text, length);
    if (!is_white_space(code)) break;
    length += bytes;
  }
  return length;
}

std::size_t blanks_after(std::string_view text) {
  std::size_t start = text.size();
  while (start > 0) {
    const std::size_t at = last_character(text.substr(0, start));
    if (!is_white_space(text_character(text.substr(0, start), at).code)) break;
    start = at;
  }
  return text.size() - start;
}

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
