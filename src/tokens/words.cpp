#include "tokens/words.hpp"

#include "text/error.hpp"
#include "text/unicode.hpp"

namespace qkv {
namespace {

// Calls `visit(code point, its bytes)` along the text.
template <class Visit>
void each_code_point(std::string_view text, const Visit& visit) {
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = decoded(text, at);
    if (code == bad_byte) throw InputError("the text is not UTF-8; save it as UTF-8 and try again");
    visit(code, text.substr(at, bytes));
    at += bytes;
  }
}

enum class Kind { word, joined, mark, unseen };

Kind kind_of(Code code) {
  if (code == '\'' || code == 0x2019) return Kind::word;
  switch (category_group(code)) {
    case 'L':
    case 'N': return Kind::word;
    case 'M': return Kind::joined;
    case 'Z':
    case 'C': return utf8proc_category(code) == UTF8PROC_CATEGORY_CO ? Kind::mark : Kind::unseen;
    default: return Kind::mark;
  }
}

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  bool after_token = false;  // a combining mark belongs to the token right before it
  each_code_point(text, [&](Code code, std::string_view bytes) {
    const Kind kind = kind_of(code);
    const bool joins = (kind == Kind::word && in_word) || (kind == Kind::joined && after_token);
    if (joins) {
      words.back() += bytes;
    } else if (kind != Kind::unseen) {
      words.emplace_back(bytes);
    }
    if (kind != Kind::joined) in_word = kind == Kind::word;
    after_token = kind != Kind::unseen;
  });
  return words;
}

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> characters;
  Code before = 0;
  Code state = 0;
  each_code_point(text, [&](Code code, std::string_view bytes) {
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

}  // namespace qkv
