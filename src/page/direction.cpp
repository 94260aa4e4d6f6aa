#include "page/direction.hpp"

#include <fmt/format.h>

#include "page/html.hpp"
#include "text/typeset.hpp"
#include "text/unicode.hpp"

namespace qkv {
namespace {

enum class Reading { neither, from_left, from_right };

Reading reading_of(Code code) {
  if (code < 0) return Reading::neither;
  switch (utf8proc_get_property(code)->bidi_class) {
    case UTF8PROC_BIDI_CLASS_L: return Reading::from_left;
    case UTF8PROC_BIDI_CLASS_R:
    case UTF8PROC_BIDI_CLASS_AL: return Reading::from_right;
    default: return Reading::neither;
  }
}

struct Letters {
  std::size_t from_left = 0, from_right = 0;
  Code first = 0;  // of those from the right
};

Letters letters_of(std::string_view text) {
  Letters letters;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded next = decoded(text, at);
    const Reading reading = reading_of(next.code);
    if (reading == Reading::from_right && letters.from_right++ == 0) letters.first = next.code;
    if (reading == Reading::from_left) ++letters.from_left;
    at += next.bytes;
  }
  return letters;
}

// The language that most texts of the script are in.
std::string_view language_of(Code code) {
  if ((code >= 0x590 && code < 0x600) || (code >= 0xFB1D && code < 0xFB50)) return "he";
  if (code >= 0x780 && code < 0x7C0) return "dv";
  return code < 0x700 || (code >= 0x750 && code < 0x780) || code >= 0xFB50 ? "ar" : "";
}

// Ends a label, wherever it stands: no run of letters reaches over it.
bool parts_labels(Code code) {
  return code >= 0 && code < 0x80 &&
         std::string_view(",[](){}=+/|^<>").find(static_cast<char>(code)) != std::string_view::npos;
}

// Where the letters from the right that begin at `at` end, with the blanks and digits among them.
std::size_t end_of_run(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (at < text.size()) {
    const Decoded next = decoded(text, at);
    const Reading reading = reading_of(next.code);
    if (reading == Reading::from_left || parts_labels(next.code)) break;
    at += next.bytes;
    if (reading == Reading::from_right || is_mark(next.code)) end = at;
  }
  return end;
}

bool is_ascii_of(char c, std::string_view others) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         others.find(c) != std::string_view::npos;
}

// How long the cell or number is that begins here, `Q[הילד,1]` or `−0.5`; 0 where none does.
std::size_t length_from_left(std::string_view text) {
  std::size_t length = 0;
  if (text.starts_with(typeset_minus)) length = typeset_minus.size();
  while (length < text.size() && is_ascii_of(text[length], "_.")) ++length;
  if (length > 0 && length < text.size() && text[length] == '[') {
    const std::size_t end = text.find(']', length);
    if (end != std::string_view::npos) return end + 1;
  }
  return text.starts_with(typeset_minus) && length > typeset_minus.size() ? length : 0;
}

// In a text from the right the cells and the numbers with a sign by themselves.
std::string left_parts_isolated(std::string_view text) {
  std::string html;
  std::size_t plain = 0;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = at == 0 || !is_ascii_of(text[at - 1], "_.");
    const std::size_t length = begins ? length_from_left(text.substr(at)) : 0;
    if (length == 0) {
      ++at;
      continue;
    }
    html += html_escaped(text.substr(plain, at - plain));
    html += fmt::format("<bdi dir=\"ltr\">{}</bdi>", html_isolated(text.substr(at, length)));
    plain = at += length;
  }
  return html + html_escaped(text.substr(plain));
}

}  // namespace

std::string html_isolated(std::string_view text) {
  std::string html;
  std::size_t plain = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Decoded next = decoded(text, at);
    if (reading_of(next.code) != Reading::from_right) {
      at += next.bytes;
      continue;
    }
    const std::size_t end = end_of_run(text, at);
    html += html_escaped(text.substr(plain, at - plain));
    html += fmt::format("<bdi>{}</bdi>", html_escaped(text.substr(at, end - at)));
    plain = at = end;
  }
  return html + html_escaped(text.substr(plain));
}

Directed directed(std::string_view text) {
  const Letters letters = letters_of(text);
  if (letters.from_right <= letters.from_left) return {"", html_isolated(text)};
  const std::string_view language = language_of(letters.first);
  return {language.empty() ? " dir=\"rtl\"" : fmt::format(" dir=\"rtl\" lang=\"{}\"", language),
          left_parts_isolated(text)};
}

std::string html_inline(std::string_view text) {
  const Directed own = directed(text);
  return own.attributes.empty() ? own.html
                                : fmt::format("<bdi{}>{}</bdi>", own.attributes, own.html);
}

}  // namespace qkv
