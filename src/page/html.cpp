#include "page/pages.hpp"

namespace qkv::inline page {
namespace {

// Escapes text for element content or a quoted attribute.
std::string html_escaped(std::string_view text) {
  constexpr std::pair<std::string_view, std::string_view> entities[] = {
      {"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}};
  std::string html(text);
  for (const auto& [mark, entity] : entities) html = replace_all(html, mark, entity);
  return html;
}

// True for the first byte of all letters from the right; other letters look the same by themselves.
bool may_run_from_right(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 0xD6 && byte <= 0xDF) || byte == 0xE0 || byte == 0xEF || byte == 0xF0;
}

bool is_ascii_of(char c, std::string_view others) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         others.find(c) != std::string_view::npos;
}

// The length of the cell or number that begins here, `Q[הילד,1]` or `−0.5`; 0 if there is none.
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

// The end of the letters from the right at `at`, with the blanks and digits between them.
std::size_t end_of_run(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (at < text.size()) {
    if (may_run_from_right(text[at])) {
      while (++at < text.size() && is_continuation_byte(text[at])) {
      }
      end = at;
    } else if (std::string_view(" 0123456789'\"-.:;!?").find(text[at]) != std::string_view::npos) {
      ++at;
    } else {
      break;
    }
  }
  return end;
}

std::string isolated(std::string_view text) {
  std::string html;
  std::size_t plain = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!may_run_from_right(text[at])) continue;
    const std::size_t end = end_of_run(text, at);
    html += fmt::format("{}<bdi>{}</bdi>", html_escaped(text.substr(plain, at - plain)),
                        html_escaped(text.substr(at, end - at)));
    plain = end;
    at = end - 1;
  }
  return html + html_escaped(text.substr(plain));
}

// Words in which cells and signed numbers run from the left, whatever is around them.
std::string words_html(std::string_view text) {
  if (std::ranges::none_of(text, may_run_from_right)) return html_escaped(text);
  std::string html;
  std::size_t plain = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins = at == 0 || !is_ascii_of(text[at - 1], "_.");
    const std::size_t length = begins ? length_from_left(text.substr(at)) : 0;
    if (length == 0) continue;
    html += fmt::format("{}<bdi dir=\"ltr\">{}</bdi>", html_escaped(text.substr(plain, at - plain)),
                        isolated(text.substr(at, length)));
    plain = at + length;
    at = plain - 1;
  }
  return html + html_escaped(text.substr(plain));
}

// Most tables show labels up to this width in full; none shows more than the second.
constexpr std::size_t widest_common_label = 14;
constexpr std::size_t max_html_label = 80;

// Words in which d_k, W_Q and the like have subscripts; the underscore stays in the text, unseen.
std::string words_with_subscripts(std::string_view text) {
  static constexpr std::string_view subscripts[] = {"k", "v", "ff", "model", "Q", "K", "V", "O"};
  const std::string words = words_html(text);
  std::string html;
  for (std::size_t at = 0, end = 0; at < words.size(); at = end) {
    while (end < words.size() && is_ascii_of(words[end], "_")) ++end;
    end = std::max(end, at + 1);
    const std::string_view word = std::string_view(words).substr(at, end - at);
    const bool is_symbol = word.size() > 2 && contains(std::string_view("dWb"), word[0]) &&
                           word[1] == '_' && contains(subscripts, word.substr(2));
    html += is_symbol ? fmt::format("<var>{}<span class=\"under\">_</span><sub>{}</sub></var>",
                                    word[0], word.substr(2))
                      : std::string(word);
  }
  return html;
}

// W_Q is W with subscript Q, Kᵀ has a superscript; the shape is below.
std::string operand_html(std::string_view name, bool is_transposed, std::string_view shape) {
  const bool has_index = name.size() >= 3 && name[1] == '_';
  const std::string letters =
      has_index
          ? fmt::format("{}<sub>{}</sub>", html_text(name.substr(0, 1)), html_text(name.substr(2)))
          : html_text(name);
  return fmt::format("<span class=\"operand\"><var{}>{}{}</var> <small>{}</small></span>",
                     name.size() > 1 && !has_index ? " class=\"word\"" : "", letters,
                     is_transposed ? "<sup>⊤</sup>" : "", html_text(shape));
}

}  // namespace

std::string html_formula(const Formula& formula) {
  std::string html;
  for (const FormulaPiece& piece : formula.pieces) {
    html += piece.is_operand ? operand_html(piece.text, piece.transposed, piece.shape)
                             : html_text(piece.text);
  }
  return fmt::format("<p class=\"formula\">{} →&nbsp;{}</p>\n", html,
                     operand_html(formula.result, false, formula.result_shape));
}

std::string html_text(std::string_view text) { return isolated(sanitise(text)); }

std::string html_attribute(std::string_view text) { return html_escaped(sanitise(text)); }

std::string html_inline(std::string_view text) {
  return fmt::format("<bdi>{}</bdi>", words_html(sanitise(text)));
}

std::string html_element(std::string_view tag, std::string_view text) {
  return fmt::format("<{0} dir=\"auto\">{1}</{0}>", tag, words_with_subscripts(sanitise(text)));
}

std::string html_label(std::string_view label, std::string_view attributes) {
  const std::string whole = sanitise_label(label);
  const std::string title = width(whole) > widest_common_label
                                ? fmt::format(" title=\"{}\"", html_escaped(whole))
                                : std::string();
  return fmt::format("<th{}{}>{}</th>", attributes, title,
                     words_html(shortened(whole, max_html_label)));
}

std::string html_prose(const std::vector<Passage>& passages) {
  constexpr std::string_view end_of_list = "</ul>\n";
  std::string text;
  for (const Passage& passage : passages) {
    if (passage.kind == Passage::Kind::code) {
      text += fmt::format("<pre><code>{}</code></pre>\n", html_escaped(passage.as_written()));
      continue;
    }
    const std::string html = words_with_subscripts(with_minus_signs(passage.as_written()));
    if (passage.kind == Passage::Kind::paragraph) {
      text += fmt::format("<p dir=\"auto\">{}</p>\n", html);
      continue;
    }
    const bool goes_on = !passage.apart && text.ends_with(end_of_list);
    if (goes_on) text.resize(text.size() - end_of_list.size());
    text += fmt::format("{}<li dir=\"auto\">{}</li>{}", goes_on ? "\n" : "<ul>", html, end_of_list);
  }
  return text;
}

std::string json_for_html(std::string_view json) {
  std::string text(json);
  for (const char c : {'<', '>', '&'}) {
    text = replace_all(text, {&c, 1}, fmt::format("\\u{:04x}", int{c}));
  }
  return text;
}

}  // namespace qkv::inline page
