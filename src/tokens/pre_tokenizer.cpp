#include "tokens/tokens.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <new>

#include "text/strings.hpp"

namespace qkv::inline tokens {
namespace {

// Of the control characters only those that end a line or a cell are White_Space. U+001C to U+001F
// are not: Python's `re` counts them, but not the `regex` of GPT-2's encoder, nor Hugging Face's.
bool is_white_space(CodePoint code) {
  return (code >= 0x09 && code <= 0x0d) || code == 0x85 || category_group(code) == 'Z';
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

// The characters of `\w` in Oniguruma. PCRE2's have no marks and of the connectors only "_".
#define QKV_WORD_CHARACTERS R"(\p{L}\p{M}\p{N}\p{Pc})"

// An escape that PCRE2 would read otherwise, and what stands for it outside and inside of a class.
struct Escape {
  char letter;
  std::string_view outside;
  std::string_view inside;
};

constexpr std::array translated = {
    Escape{'s', R"(\p{White_Space})", R"(\p{White_Space})"},  // PCRE2's has U+180E
    Escape{'S', R"(\P{White_Space})", R"(\P{White_Space})"},
    Escape{'w', "[" QKV_WORD_CHARACTERS "]", QKV_WORD_CHARACTERS},
    Escape{'W', "[^" QKV_WORD_CHARACTERS "]", {}},
    Escape{'v', R"(\x0b)", R"(\x0b)"},
};

#undef QKV_WORD_CHARACTERS

// Translates a pattern from Oniguruma's syntax to PCRE2's. Throws InputError for what the two read
// differently, and for what no known tokenizer has.
struct Translation {
  std::string_view whole;
  std::string_view rest = whole;
  std::string result = {};
  bool in_class = false;

  std::string pattern() {
    while (!rest.empty()) {
      if (rest.front() == '\\') {
        escape();
      } else if (in_class) {
        if (rest.starts_with("[") || rest.starts_with("&&")) refuse("a class in a class");
        in_class = rest.front() != ']';
        copy(1);
      } else if (rest.front() == '[') {
        in_class = true;
        copy(rest.starts_with("[^") ? 2 : 1);
        if (rest.starts_with(']')) copy(1);  // the first character is never the end
      } else {
        refuse_unknown();
        copy(1);
      }
    }
    return result;
  }

  [[noreturn]] void refuse(std::string_view what) const {
    throw InputError("tokenizer: the pattern {} has {}", whole, what);
  }

  void copy(std::size_t bytes) {
    result += rest.substr(0, bytes);
    rest.remove_prefix(std::min(bytes, rest.size()));
  }

  void refuse_unknown() const {
    const char first = rest.front();
    const std::string_view next = rest.substr(1, 1);
    const bool is_count = !next.empty() && next[0] >= '0' && next[0] <= '9';
    if (first == '^' || first == '$' || (first == '{' && !is_count)) {
      refuse(fmt::format("a {} that qkv does not know there", first));
    }
    if (first != '(' || (next != "?" && next != "*")) return;
    for (const std::string_view known : {"(?:", "(?i:", "(?=", "(?!"}) {
      if (rest.starts_with(known)) return;
    }
    refuse("a group of a kind that qkv does not know");
  }

  void escape() {
    const char letter = rest.size() > 1 ? rest[1] : '\0';
    for (const Escape& one : translated) {
      if (one.letter != letter) continue;
      const std::string_view meaning = in_class ? one.inside : one.outside;
      if (meaning.empty())
        refuse(fmt::format("a \\{} in a class, which qkv does not know", letter));
      result += meaning;
      return rest.remove_prefix(2);
    }
    if (letter == 'p' || letter == 'P') return category();
    const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                           (letter >= '0' && letter <= '9');
    if (is_letter && std::string_view("dDrntf").find(letter) == std::string_view::npos) {
      refuse(fmt::format("\\{}, which qkv does not know", letter));
    }
    copy(2);
  }

  void category() {
    const std::size_t end = rest.find('}');
    const bool is_short = rest.substr(2).starts_with("{") && (end == 4 || end == 5);
    if (!is_short || std::string_view("LMNPSZC").find(rest[3]) == std::string_view::npos) {
      refuse("a \\p other than {L}, {Lu}, {N} and the like");
    }
    copy(end + 1);
  }
};

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Returns what PCRE2 made, with the function that frees it. Throws std::bad_alloc if there is none.
template <class Made>
std::unique_ptr<Made, void (*)(Made*)> owned(Made* made, void (*destroy)(Made*)) {
  if (made == nullptr) throw std::bad_alloc();
  return {made, destroy};
}

void require_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) at += text_character(text, at).bytes;
}

std::vector<std::string> cut_before(std::string_view text, std::string_view mark) {
  std::vector<std::string> words;
  std::size_t begin = 0;
  for (std::size_t at = text.find(mark, 1); at != text.npos; at = text.find(mark, at + 1)) {
    words.emplace_back(text.substr(begin, at - begin));
    begin = at;
  }
  if (begin < text.size()) words.emplace_back(text.substr(begin));
  return words;
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
  require_utf8(text);
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
  require_utf8(text);
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

TokenRegex::TokenRegex(std::string_view written) {
  constexpr std::uint32_t deepest = 50;
  const auto context = owned(pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
  pcre2_set_parens_nest_limit(context.get(), deepest);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  Translation translation{written};
  const std::string pattern = translation.pattern();
  int error = 0;
  std::size_t place = 0;
  code_.reset(
      pcre2_compile(bytes_of(pattern), pattern.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NO_AUTO_CAPTURE, &error, &place, context.get()),
      &pcre2_code_free);
  if (code_) return;
  std::array<unsigned char, 256> why{};
  pcre2_get_error_message(error, why.data(), why.size());
  translation.refuse(fmt::format("an error: {}", reinterpret_cast<const char*>(why.data())));
}

std::vector<std::string_view> TokenRegex::pieces(std::string_view text) const {
  constexpr std::uint32_t most_steps = 2'000'000;  // from one character of the text
  constexpr std::uint32_t most_memory = 1 << 16;   // in KiB
  require_utf8(text);
  const auto context = owned(pcre2_match_context_create(nullptr), &pcre2_match_context_free);
  pcre2_set_match_limit(context.get(), most_steps);
  pcre2_set_heap_limit(context.get(), most_memory);
  const auto match = owned(pcre2_match_data_create(1, nullptr), &pcre2_match_data_free);
  const std::size_t* const found = pcre2_get_ovector_pointer(match.get());
  std::vector<std::string_view> pieces;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const int result = pcre2_match(code_.get(), bytes_of(text), text.size(), at, PCRE2_NO_UTF_CHECK,
                                   match.get(), context.get());
    if (result == PCRE2_ERROR_NOMATCH) break;
    if (result == PCRE2_ERROR_NOMEMORY) throw std::bad_alloc();
    if (result < 0) throw InputError("tokenizer: its pattern takes too long to cut this text");
    at = found[1];
    if (found[0] == at) {  // an empty match
      if (at < text.size()) at += text_character(text, at).bytes;
      continue;
    }
    if (found[0] > begin) pieces.push_back(text.substr(begin, found[0] - begin));
    pieces.push_back(text.substr(found[0], at - found[0]));
    begin = at;
  }
  if (begin < text.size()) pieces.push_back(text.substr(begin));
  return pieces;
}

const TokenRegex& gpt2_pattern() {
  static const TokenRegex pattern(
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");
  return pattern;
}

std::string PreTokenizer::prepared(std::string_view text, bool is_first) const {
  const std::string mark = blank.empty() ? " " : blank;
  std::string result = blank.empty() ? std::string(text) : replace_all(text, " ", mark);
  const bool may_begin_so =
      start == PrependScheme::unless_there || (start == PrependScheme::once && is_first);
  const bool is_due = start == PrependScheme::always || (may_begin_so && !result.starts_with(mark));
  return is_due ? mark + result : result;
}

std::vector<std::string> PreTokenizer::words(std::string_view text, bool is_first) const {
  require_utf8(text);
  const std::string whole = prepared(text, is_first);
  if (splits_at_blanks) return cut_before(whole, blank);
  std::vector<std::string_view> pieces = {whole};
  for (const TokenRegex& pattern : patterns) {
    std::vector<std::string_view> smaller;
    for (const std::string_view piece : pieces) {
      for (const std::string_view part : pattern.pieces(piece)) smaller.push_back(part);
    }
    pieces = std::move(smaller);
  }
  return {pieces.begin(), pieces.end()};
}

}  // namespace qkv::inline tokens
