#include <fmt/format.h>

#include <cctype>
#include <utility>

#include "page/html.hpp"

namespace qkv {
namespace {

// One word, number, sign or operand of a formula.
struct Token {
  enum class Kind { words, number, sign, operand };
  Kind kind;
  std::string text;
  const FormulaPiece* operand = nullptr;
};

// The signs that the operations write their formulas with; whatever else there is reads as words.
constexpr std::string_view signs[] = {"·", "+", "−", "/", "(", ")", "|", "√", "^", "="};

std::string_view sign_at(std::string_view text) {
  for (const std::string_view sign : signs) {
    if (text.starts_with(sign)) return sign;
  }
  return {};
}

bool is_number(std::string_view word) {
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word.front())) != 0 &&
         word.find_first_not_of("0123456789.e-") == std::string_view::npos;
}

void add_word(std::vector<Token>& tokens, const std::string& word) {
  if (word.empty()) return;
  const bool number = is_number(word);
  if (!number && !tokens.empty() && tokens.back().kind == Token::Kind::words) {
    tokens.back().text += " " + word;
  } else {
    tokens.push_back({number ? Token::Kind::number : Token::Kind::words, word});
  }
}

void add_text(std::vector<Token>& tokens, std::string_view text) {
  std::string word;
  while (!text.empty()) {
    const std::string_view sign = sign_at(text);
    if (sign.empty() && text.front() != ' ') {
      word += text.front();
      text.remove_prefix(1);
      continue;
    }
    add_word(tokens, std::exchange(word, {}));
    if (!sign.empty()) tokens.push_back({Token::Kind::sign, std::string(sign)});
    text.remove_prefix(sign.empty() ? 1 : sign.size());
  }
  add_word(tokens, word);
}

std::vector<Token> tokens_of(const std::vector<FormulaPiece>& pieces) {
  std::vector<Token> tokens;
  for (const FormulaPiece& piece : pieces) {
    if (piece.is_operand) {
      tokens.push_back({Token::Kind::operand, piece.text, &piece});
    } else {
      add_text(tokens, piece.text);
    }
  }
  return tokens;
}

std::string row(const std::string& inside) { return "<mrow>" + inside + "</mrow>"; }

// W_Q as a W with a small Q; a name of several letters stays as it is.
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

// Reads tokens as mathematics: a root reaches over what follows it, a power too, and a stroke
// between two single things is a fraction.
class Reader {
 public:
  explicit Reader(const std::vector<Token>& tokens) : tokens_(tokens) {}

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
    const Token& token = tokens_[at_++];
    switch (token.kind) {
      case Token::Kind::operand: return operand(*token.operand, shapes);
      case Token::Kind::number: return fmt::format("<mn>{}</mn>", html_text(token.text));
      case Token::Kind::sign: return fmt::format("<mo>{}</mo>", html_text(token.text));
      case Token::Kind::words: break;
    }
    // A single letter stands for a number: the ε of a layer norm.
    if (token.text == "e" || token.text == "ε") return fmt::format("<mi>{}</mi>", token.text);
    return words(token.text);
  }

  // MathML takes away blanks at the ends of words: those that are to stay don't break.
  std::string words(const std::string& text) const {
    const std::size_t own = at_ - 1;
    const bool begins = own == 0 || is_sign(own - 1, "(") || text.starts_with(',');
    const bool ends = at_ == tokens_.size() || is_sign(at_, "(") || is_sign(at_, ")");
    return fmt::format("<mtext>{}{}{}</mtext>", begins ? "" : "\u00a0", html_text(text),
                       ends ? "" : "\u00a0");
  }

  bool is_sign(std::size_t at, std::string_view sign) const {
    return tokens_[at].kind == Token::Kind::sign && tokens_[at].text == sign;
  }

  std::string bracket() {
    ++at_;
    std::string inside(bracket_opens);
    while (at_ < tokens_.size() && !next_is(")")) inside += fraction();
    if (next_is(")")) ++at_;
    return inside.append(bracket_closes);
  }

  // The bar of a fraction and the roof of a root hold their parts together by themselves.
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

  const std::vector<Token>& tokens_;
  std::size_t at_ = 0;
};

}  // namespace

std::string mathml(const std::vector<FormulaPiece>& pieces, std::string_view result,
                   std::string_view result_shape, std::string_view said) {
  const std::vector<Token> tokens = tokens_of(pieces);
  return fmt::format("<math display=\"block\" alttext=\"{}\"><mrow>{}<mo>→</mo>{}</mrow></math>\n",
                     html_attribute(said), Reader(tokens).read(),
                     with_shape(name_mathml(result), result_shape));
}

}  // namespace qkv
