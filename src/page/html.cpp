#include "page/html.hpp"

#include <fmt/format.h>

#include "page/direction.hpp"
#include "text/escape.hpp"
#include "text/typeset.hpp"
#include "text/width.hpp"

namespace qkv {
namespace {

// Most tables show a label of so many columns whole; none shows more than the second.
constexpr std::size_t widest_common_label = 14;
constexpr std::size_t widest_html_label = 80;

using Kind = Passage::Kind;

// The passage behind its opening tags.
std::string opened(const Passage& passage) {
  const std::string text = passage.as_written();
  if (passage.kind == Kind::code) return "<pre><code>" + html_escaped(text);
  const Directed own = directed(with_minus_signs(text));
  const std::string_view tag = passage.kind == Kind::item ? "li" : "p";
  return fmt::format("<{}{}>{}", tag, own.attributes, own.html);
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

std::string html_text(std::string_view text) { return html_isolated(visible(text)); }

std::string html_attribute(std::string_view text) { return html_escaped(visible(text)); }

std::string html_element(std::string_view tag, std::string_view text) {
  const Directed own = directed(visible(text));
  return fmt::format("<{0}{1}>{2}</{0}>", tag, own.attributes, own.html);
}

std::string html_label(std::string_view label, std::string_view attributes) {
  const std::string whole = visible_label(label);
  const Directed own = directed(shortened(whole, widest_html_label));
  const std::string title = width(whole) > widest_common_label
                                ? fmt::format(" title=\"{}\"", html_escaped(whole))
                                : std::string();
  return fmt::format("<th{}{}{}>{}</th>", attributes, own.attributes, title, own.html);
}

std::string html_prose(const std::vector<Passage>& passages) {
  std::string text;
  const Passage* before = nullptr;
  for (const Passage& passage : passages) {
    const bool goes_on = before && !passage.apart && before->kind == Kind::item;
    if (goes_on && passage.kind == Kind::item) {
      text += "</li>\n";
    } else {
      text.append(before ? closing(before->kind) : "");
      if (passage.kind == Kind::item) text += "<ul>";
    }
    text += opened(passage);
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
