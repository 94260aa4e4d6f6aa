#include "page/html.hpp"

#include <fmt/format.h>

#include <cctype>
#include <utility>

#include "text/escape.hpp"
#include "text/strings.hpp"
#include "text/unicode.hpp"

namespace qkv::inline page {
namespace {

// Escapes text for element content or a quoted attribute.
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

// One word, number, sign or operand of a formula.
struct FormulaToken {
  enum class PassageKind { words, number, sign, operand };
  PassageKind kind;
  std::string text;
  const FormulaPiece* operand = nullptr;
};

// The signs in operations' formulas; anything else is read as words.
constexpr std::string_view math_signs[] = {"·", "+", "−", "/", "(", ")", "|", "√", "^", "="};

std::string_view sign_at(std::string_view text) {
  for (const std::string_view sign : math_signs) {
    if (text.starts_with(sign)) return sign;
  }
  return {};
}

bool is_number(std::string_view word) {
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word.front())) != 0 &&
         word.find_first_not_of("0123456789.e-") == std::string_view::npos;
}

void add_word(std::vector<FormulaToken>& tokens, const std::string& word) {
  if (word.empty()) return;
  const bool number = is_number(word);
  if (!number && !tokens.empty() && tokens.back().kind == FormulaToken::PassageKind::words) {
    tokens.back().text += " " + word;
  } else {
    tokens.push_back(
        {number ? FormulaToken::PassageKind::number : FormulaToken::PassageKind::words, word});
  }
}

void add_text(std::vector<FormulaToken>& tokens, std::string_view text) {
  std::string word;
  while (!text.empty()) {
    const std::string_view sign = sign_at(text);
    if (sign.empty() && text.front() != ' ') {
      word += text.front();
      text.remove_prefix(1);
      continue;
    }
    add_word(tokens, std::exchange(word, {}));
    if (!sign.empty()) tokens.push_back({FormulaToken::PassageKind::sign, std::string(sign)});
    text.remove_prefix(sign.empty() ? 1 : sign.size());
  }
  add_word(tokens, word);
}

std::vector<FormulaToken> tokens_of(const std::vector<FormulaPiece>& pieces) {
  std::vector<FormulaToken> tokens;
  for (const FormulaPiece& piece : pieces) {
    if (piece.is_operand) {
      tokens.push_back({FormulaToken::PassageKind::operand, piece.text, &piece});
    } else {
      add_text(tokens, piece.text);
    }
  }
  return tokens;
}

std::string row(const std::string& inside) { return "<mrow>" + inside + "</mrow>"; }

// W_Q as W with subscript Q; a name of several letters stays as it is.
std::string name_mathml(std::string_view name) {
  const bool letter_with_index = name.size() >= 3 && name[1] == '_';
  if (!letter_with_index) {
    return fmt::format("<mi{}>{}</mi>", name.size() > 1 ? " class=\"word\"" : "", html_text(name));
  }
  return fmt::format("<msub><mi>{}</mi><mi>{}</mi></msub>", html_text(name.substr(0, 1)),
                     html_text(name.substr(2)));
}

std::string with_shape(const std::string& name, std::string_view shape) {
  return fmt::format("<munder>{}<mtext class=\"shape\">{}</mtext></munder>", name,
                     html_text(shape));
}

enum class Shapes { shown, left_out };

constexpr std::string_view bracket_opens = "<mrow><mo>(</mo>";
constexpr std::string_view bracket_closes = "<mo>)</mo></mrow>";

// Parses tokens: a root or power applies to what follows, a stroke between two items is a fraction.
class FormulaParser {
 public:
  explicit FormulaParser(const std::vector<FormulaToken>& tokens) : tokens_(tokens) {}

  std::string read() {
    std::string text;
    while (at_ < tokens_.size()) text += fraction();
    return text;
  }

 private:
  bool next_is(std::string_view sign) const { return at_ < tokens_.size() && is_sign(at_, sign); }

  std::string fraction() {
    std::string above = raised(Shapes::shown);
    while (next_is("/") && at_ + 1 < tokens_.size()) {
      ++at_;
      above = fmt::format("<mfrac>{}{}</mfrac>", row(without_brackets(above)),
                          row(without_brackets(raised(Shapes::shown))));
    }
    return above;
  }

  std::string raised(Shapes shapes) {
    std::string base = single(shapes);
    while (next_is("^") && at_ + 1 < tokens_.size()) {
      ++at_;
      base = fmt::format("<msup>{}{}</msup>", row(base), row(single(Shapes::left_out)));
    }
    return base;
  }

  std::string single(Shapes shapes) {
    if (next_is("√") && at_ + 1 < tokens_.size()) {
      ++at_;
      return fmt::format("<msqrt>{}</msqrt>", row(without_brackets(single(Shapes::left_out))));
    }
    if (next_is("(")) return bracket();
    const FormulaToken& token = tokens_[at_++];
    switch (token.kind) {
      case FormulaToken::PassageKind::operand: return operand(*token.operand, shapes);
      case FormulaToken::PassageKind::number:
        return fmt::format("<mn>{}</mn>", html_text(token.text));
      case FormulaToken::PassageKind::sign:
        return fmt::format("<mo>{}</mo>", html_text(token.text));
      case FormulaToken::PassageKind::words: break;
    }
    // A single letter is a number: the ε of a layer norm.
    if (token.text == "e" || token.text == "ε") return fmt::format("<mi>{}</mi>", token.text);
    return words(token.text);
  }

  // MathML trims words: blanks to keep become no-break spaces.
  std::string words(const std::string& text) const {
    const std::size_t own = at_ - 1;
    const bool begins = own == 0 || is_sign(own - 1, "(") || text.starts_with(',');
    const bool ends = at_ == tokens_.size() || is_sign(at_, "(") || is_sign(at_, ")");
    return fmt::format("<mtext>{}{}{}</mtext>", begins ? "" : "\u00a0", html_text(text),
                       ends ? "" : "\u00a0");
  }

  bool is_sign(std::size_t at, std::string_view sign) const {
    return tokens_[at].kind == FormulaToken::PassageKind::sign && tokens_[at].text == sign;
  }

  std::string bracket() {
    ++at_;
    std::string inside(bracket_opens);
    while (at_ < tokens_.size() && !next_is(")")) inside += fraction();
    if (next_is(")")) ++at_;
    return inside.append(bracket_closes);
  }

  // Fraction bars and root signs already group their parts.
  static std::string without_brackets(const std::string& text) {
    if (!text.starts_with(bracket_opens) || !text.ends_with(bracket_closes)) return text;
    return text.substr(bracket_opens.size(),
                       text.size() - bracket_opens.size() - bracket_closes.size());
  }

  static std::string operand(const FormulaPiece& piece, Shapes shapes) {
    std::string name = name_mathml(piece.text);
    if (piece.transposed) name = fmt::format("<msup>{}<mo>⊤</mo></msup>", row(name));
    return shapes == Shapes::shown ? with_shape(name, piece.shape) : name;
  }

  const std::vector<FormulaToken>& tokens_;
  std::size_t at_ = 0;
};

enum class Reading { neither, from_left, from_right };

Reading reading_of(CodePoint code) {
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
  CodePoint first = 0;  // the first right-to-left letter
};

Letters letters_of(std::string_view text) {
  Letters letters;
  for (std::size_t at = 0; at < text.size();) {
    const DecodedCodePoint next = decode_code_point(text, at);
    const Reading reading = reading_of(next.code);
    if (reading == Reading::from_right && letters.from_right++ == 0) letters.first = next.code;
    if (reading == Reading::from_left) ++letters.from_left;
    at += next.bytes;
  }
  return letters;
}

// The most common language of the letter's script.
std::string_view language_of_letters(CodePoint code) {
  if ((code >= 0x590 && code < 0x600) || (code >= 0xFB1D && code < 0xFB50)) return "he";
  if (code >= 0x780 && code < 0x7C0) return "dv";
  return code < 0x700 || (code >= 0x750 && code < 0x780) || code >= 0xFB50 ? "ar" : "";
}

// True for characters that end a label: no run of letters crosses them.
bool parts_labels(CodePoint code) {
  return code >= 0 && code < 0x80 &&
         std::string_view(",[](){}=+/|^<>").find(static_cast<char>(code)) != std::string_view::npos;
}

// The end of the right-to-left run at `at`, with the blanks and digits in it.
std::size_t end_of_run(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (at < text.size()) {
    const DecodedCodePoint next = decode_code_point(text, at);
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

// Isolates cells and signed numbers in right-to-left text.
std::string isolate_left_to_right(std::string_view text) {
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

// Most tables show labels up to this width in full; none shows more than the second.
constexpr std::size_t widest_common_label = 14;
constexpr std::size_t max_html_label = 80;

using PassageKind = Passage::Kind;

// The passage after its opening tags.
std::string opened(const Passage& passage) {
  const std::string text = passage.as_written();
  if (passage.kind == PassageKind::code) return "<pre><code>" + html_escaped(text);
  const BidiText own = bidi_text(with_minus_signs(text));
  const std::string_view tag = passage.kind == PassageKind::item ? "li" : "p";
  return fmt::format("<{}{}>{}", tag, own.attributes, own.html);
}

std::string_view closing(PassageKind kind) {
  switch (kind) {
    case PassageKind::paragraph: return "</p>\n";
    case PassageKind::item: return "</li></ul>\n";
    case PassageKind::code: return "</code></pre>\n";
  }
  return {};
}

}  // namespace

std::string mathml(const std::vector<FormulaPiece>& pieces, std::string_view result,
                   std::string_view result_shape, std::string_view explanation) {
  const std::vector<FormulaToken> tokens = tokens_of(pieces);
  return fmt::format("<math display=\"block\" alttext=\"{}\"><mrow>{}<mo>→</mo>{}</mrow></math>\n",
                     html_attribute(explanation), FormulaParser(tokens).read(),
                     with_shape(name_mathml(result), result_shape));
}

std::string html_isolated(std::string_view text) {
  std::string html;
  std::size_t plain = 0;
  for (std::size_t at = 0; at < text.size();) {
    const DecodedCodePoint next = decode_code_point(text, at);
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

BidiText bidi_text(std::string_view text) {
  const Letters letters = letters_of(text);
  if (letters.from_right <= letters.from_left) return {"", html_isolated(text)};
  const std::string_view language = language_of_letters(letters.first);
  return {language.empty() ? " dir=\"rtl\"" : fmt::format(" dir=\"rtl\" lang=\"{}\"", language),
          isolate_left_to_right(text)};
}

std::string html_inline(std::string_view text) {
  const BidiText own = bidi_text(text);
  return own.attributes.empty() ? own.html
                                : fmt::format("<bdi{}>{}</bdi>", own.attributes, own.html);
}

std::string html_text(std::string_view text) { return html_isolated(sanitise(text)); }

std::string html_attribute(std::string_view text) { return html_escaped(sanitise(text)); }

std::string html_element(std::string_view tag, std::string_view text) {
  const BidiText own = bidi_text(sanitise(text));
  return fmt::format("<{0}{1}>{2}</{0}>", tag, own.attributes, own.html);
}

std::string html_label(std::string_view label, std::string_view attributes) {
  const std::string whole = sanitise_label(label);
  const BidiText own = bidi_text(shortened(whole, max_html_label));
  const std::string title = width(whole) > widest_common_label
                                ? fmt::format(" title=\"{}\"", html_escaped(whole))
                                : std::string();
  return fmt::format("<th{}{}{}>{}</th>", attributes, own.attributes, title, own.html);
}

std::string html_prose(const std::vector<Passage>& passages) {
  std::string text;
  const Passage* before = nullptr;
  for (const Passage& passage : passages) {
    const bool goes_on = before && !passage.apart && before->kind == PassageKind::item;
    if (goes_on && passage.kind == PassageKind::item) {
      text += "</li>\n";
    } else {
      text.append(before ? closing(before->kind) : "");
      if (passage.kind == PassageKind::item) text += "<ul>";
    }
    text += opened(passage);
    before = &passage;
  }
  return text.append(before ? closing(before->kind) : "");
}

std::string json_for_html(std::string json) {
  std::string result;
  for (const char c : json) {
    const bool may_be_markup = c == '<' || c == '>' || c == '&';
    result += may_be_markup ? fmt::format("\\u{:04x}", static_cast<int>(c)) : std::string(1, c);
  }
  return result;
}

}  // namespace qkv::inline page
