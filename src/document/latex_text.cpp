#include "document/latex.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "text/utf8.hpp"

namespace qkv {
namespace {

struct Replacement {
  std::string_view character;
  std::string_view latex;
};

constexpr Replacement marks[] = {
    {"\\", "\\textbackslash{}"},
    {"{", "\\{"},
    {"}", "\\}"},
    {"$", "\\char36{}"},
    {"&", "\\&"},
    {"#", "\\#"},
    {"%", "\\%"},
    {"_", "\\_"},
    {"^", "\\textasciicircum{}"},
    {"~", "\\textasciitilde{}"},
    {"<", "\\textless{}"},
    {">", "\\textgreater{}"},
    {"|", "\\textbar{}"},
    {"\"", "\\char34{}"},
    {"-", "-{}"},  // two of them would become one dash
    {"`", "`{}"},
    {"'", "'{}"},
    {"?", "?{}"},  // ?` and !` would become ¿ and ¡
    {"!", "!{}"},
};

// What lessons and formulas are written with.
constexpr Replacement symbols[] = {
    {"·", "$\\cdot$"},
    {"×", "$\\times$"},
    {"÷", "$\\div$"},
    {"±", "$\\pm$"},
    {"−", "$-$"},
    {"→", "$\\to$"},
    {"←", "$\\leftarrow$"},
    {"↦", "$\\mapsto$"},
    {"√", "$\\surd$"},
    {"∞", "$\\infty$"},
    {"Σ", "$\\Sigma$"},
    {"∑", "$\\sum$"},
    {"Δ", "$\\Delta$"},
    {"Ω", "$\\Omega$"},
    {"Φ", "$\\Phi$"},
    {"α", "$\\alpha$"},
    {"β", "$\\beta$"},
    {"γ", "$\\gamma$"},
    {"ε", "$\\varepsilon$"},
    {"θ", "$\\theta$"},
    {"λ", "$\\lambda$"},
    {"μ", "$\\mu$"},
    {"π", "$\\pi$"},
    {"σ", "$\\sigma$"},
    {"φ", "$\\varphi$"},
    {"≤", "$\\le$"},
    {"≥", "$\\ge$"},
    {"≈", "$\\approx$"},
    {"≠", "$\\ne$"},
    {"∈", "$\\in$"},
    {"∂", "$\\partial$"},
    {"ᵀ", "$^{\\mathsf{T}}$"},
    {"⁻", "$^{-}$"},
    {"⁰", "$^{0}$"},
    {"¹", "$^{1}$"},
    {"²", "$^{2}$"},
    {"³", "$^{3}$"},
    {"⁴", "$^{4}$"},
    {"⁵", "$^{5}$"},
    {"⁶", "$^{6}$"},
    {"⁷", "$^{7}$"},
    {"⁸", "$^{8}$"},
    {"⁹", "$^{9}$"},
    {"ⁱ", "$^{i}$"},
    {"ʲ", "$^{j}$"},
    {"ⁿ", "$^{n}$"},
    {"ᵏ", "$^{k}$"},
    {"ᵢ", "$_{i}$"},
    {"ⱼ", "$_{j}$"},
    {"ₖ", "$_{k}$"},
    {"ₙ", "$_{n}$"},
    {"₀", "$_{0}$"},
    {"₁", "$_{1}$"},
    {"₂", "$_{2}$"},
    {"₃", "$_{3}$"},
    {"₄", "$_{4}$"},
    {"½", "$\\frac12$"},
    {"–", "--"},
    {"—", "---"},
    {"‘", "`{}"},
    {"’", "'{}"},
    {"“", "``{}"},
    {"”", "''{}"},
    {"…", "\\dots{}"},
    {"•", "$\\bullet$"},
    {"●", "$\\bullet$"},
    {"✓", "$\\surd$"},
    {"␣", "\\textvisiblespace{}"},
    {"\u00a0", "~"},
};

char32_t code_point(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0);
  char32_t code = byte(0) & (0xffU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) code = code << 6 | (byte(i) & 0x3fU);
  return code;
}

// Letters that LaTeX makes from ASCII letters and an accent, whatever the font.
bool is_accented(char32_t code) {
  constexpr std::u32string_view without = U"ÐÞðþĄąĐđĘęĦħĮįĸĿŀŉŊŋŦŧŲųſ";
  return code >= U'À' && code <= U'ž' && without.find(code) == std::u32string_view::npos;
}

std::string beyond_ascii(std::string_view character) {
  for (const Replacement& symbol : symbols) {
    if (symbol.character == character) return std::string(symbol.latex);
  }
  const char32_t code = code_point(character);
  if (is_accented(code)) return std::string(character);
  return fmt::format("\\unicodechar{{{:04X}}}{{{}}}", static_cast<std::uint32_t>(code), character);
}

template <class OfAscii>
std::string replaced(std::string_view text, OfAscii of_ascii) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = std::max<std::size_t>(1, utf8_length(text));
    const std::string_view character = text.substr(0, length);
    result += length == 1 ? std::string(of_ascii(character)) : beyond_ascii(character);
    text.remove_prefix(length);
  }
  return result;
}

}  // namespace

std::string latex_text(std::string_view text) {
  return replaced(text, [](std::string_view character) {
    for (const Replacement& mark : marks) {
      if (mark.character == character) return mark.latex;
    }
    return character;
  });
}

std::string latex_prose(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    const bool opens = quoted.empty() ||
                       std::string_view(" \n([{-/").find(quoted.back()) != std::string_view::npos;
    if (c == '"') {
      quoted += opens ? "“" : "”";
    } else {
      quoted += c;
    }
  }
  return latex_text(quoted);
}

std::string latex_characters(std::string_view latex) {
  static constexpr std::string_view shown_wrong = "<>|\"";  // by the default fonts
  return replaced(latex, [](std::string_view character) {
    for (const Replacement& mark : marks) {
      if (mark.character == character && shown_wrong.find(character) != std::string_view::npos) {
        return mark.latex;
      }
    }
    return character;
  });
}

}  // namespace qkv
