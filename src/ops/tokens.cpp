#include "ops/tokens.hpp"

#include <utf8proc.h>

#include <functional>

#include "text/error.hpp"

namespace qkv {
namespace {

// Calls `visit(code point, its bytes)` along the text.
void each_code_point(std::string_view text,
                     const std::function<void(utf8proc_int32_t, std::string_view)>& visit) {
  while (!text.empty()) {
    utf8proc_int32_t code = 0;
    const auto length = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                         static_cast<utf8proc_ssize_t>(text.size()), &code);
    if (length <= 0) throw InputError("the text is not UTF-8; save it as UTF-8 and try again");
    visit(code, text.substr(0, static_cast<std::size_t>(length)));
    text.remove_prefix(static_cast<std::size_t>(length));
  }
}

enum class Kind { word, joined, mark, unseen };

Kind kind_of(utf8proc_int32_t code) {
  if (code == '\'' || code == 0x2019) return Kind::word;
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO: return Kind::word;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME: return Kind::joined;
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CN: return Kind::unseen;
    default: return Kind::mark;
  }
}

}  // namespace

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  bool after_token = false;  // a combining mark belongs to the token right before it
  each_code_point(text, [&](utf8proc_int32_t code, std::string_view bytes) {
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
  utf8proc_int32_t before = 0;
  utf8proc_int32_t state = 0;
  each_code_point(text, [&](utf8proc_int32_t code, std::string_view bytes) {
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
