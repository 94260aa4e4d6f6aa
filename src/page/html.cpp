#include "page/html.hpp"

#include <fmt/format.h>

#include "text/visible.hpp"
#include "text/width.hpp"

namespace qkv {
namespace {

constexpr std::size_t widest_html_label = 40;

using Kind = Passage::Kind;

std::string_view opening(Kind kind) {
  switch (kind) {
    case Kind::paragraph: return "<p>";
    case Kind::item: return "<ul><li>";
    case Kind::code: return "<pre><code>";
  }
  return {};
}

std::string_view closing(Kind kind) {
  switch (kind) {
    case Kind::paragraph: return "</p>\n";
    case Kind::item: return "</li></ul>\n";
    case Kind::code: return "</code></pre>\n";
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

std::string html_prose(const std::vector<Passage>& passages) {
  std::string text;
  const Passage* before = nullptr;
  for (const Passage& passage : passages) {
    const bool goes_on = before && !passage.apart && before->kind == Kind::item;
    if (goes_on && passage.kind == Kind::item) {
      text += "</li>\n<li>";
    } else {
      text.append(before ? closing(before->kind) : "").append(opening(passage.kind));
    }
    text += html_escaped(passage.as_written());
    before = &passage;
  }
  return text.append(before ? closing(before->kind) : "");
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
