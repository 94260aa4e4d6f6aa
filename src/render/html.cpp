#include "render/html.hpp"

#include <fmt/format.h>

#include "render/text.hpp"

namespace qkv {
namespace {

constexpr std::size_t widest_html_label = 40;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(' ') == std::string_view::npos;
}

enum class Passage { none, paragraph, list, code };

Passage block_of(std::string_view line, Passage open) {
  if (is_blank(line)) return Passage::none;
  if (line.starts_with("    ")) return Passage::code;
  if (line.starts_with("- ")) return Passage::list;
  return open == Passage::list || open == Passage::paragraph ? open : Passage::paragraph;
}

std::string_view opening(Passage block) {
  switch (block) {
    case Passage::paragraph: return "<p>";
    case Passage::list: return "<ul><li>";
    case Passage::code: return "<pre><code>";
    case Passage::none: break;
  }
  return {};
}

std::string_view closing(Passage block) {
  switch (block) {
    case Passage::paragraph: return "</p>\n";
    case Passage::list: return "</li></ul>\n";
    case Passage::code: return "</code></pre>\n";
    case Passage::none: break;
  }
  return {};
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default: result += c;
    }
  }
  return result;
}

std::string html_text(std::string_view text) { return html_escaped(visible(text)); }

std::string html_label(std::string_view label) {
  return html_escaped(shortened(visible_label(label), widest_html_label));
}

std::string html_prose(std::string_view prose) {
  const std::string safe = visible_prose(prose);
  std::string text;
  Passage open = Passage::none;
  for (std::string_view rest = safe; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const Passage block = block_of(line, open);
    const bool begins_item = block == Passage::list && line.starts_with("- ");
    if (block == open && begins_item) {
      text += "</li>\n<li>";
    } else if (block == open) {
      text += block == Passage::none ? "" : "\n";
    } else {
      text.append(closing(open)).append(opening(block));
    }
    if (begins_item) line.remove_prefix(2);
    if (block == Passage::code) line.remove_prefix(4);
    if (block != Passage::none) text += html_escaped(line);
    open = block;
  }
  return text.append(closing(open));
}

std::string json_for_html(std::string json) {
  std::string result;
  for (const char c : json) {
    const bool could_be_markup = c == '<' || c == '>' || c == '&';
    result += could_be_markup ? fmt::format("\\u{:04x}", static_cast<int>(c)) : std::string(1, c);
  }
  return result;
}

}  // namespace qkv
