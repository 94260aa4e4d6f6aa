#include "document/document.hpp"

namespace qkv::inline document {
namespace {

struct Replacement {
  std::string_view character;
  std::string_view latex;
};

constexpr Replacement marks[] = {
    {"\\", "\\textbackslash{}"}, {"$", "\\char36{}"},   {"^", "\\textasciicircum{}"},
    {"~", "\\textasciitilde{}"}, {"<", "\\textless{}"}, {">", "\\textgreater{}"},
    {"|", "\\textbar{}"},        {"\"", "\\char34{}"},
};

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

// Raised and lowered characters, and what is raised or lowered.
struct Script {
  char sign;
  std::u32string_view characters;
  std::string_view plain;
};

constexpr Script scripts[] = {{'^', U"⁻⁰¹²³⁴⁵⁶⁷⁸⁹ⁱʲⁿᵏ", "-0123456789ijnk"},
                              {'_', U"ᵢⱼₖₙ₀₁₂₃₄", "ijkn01234"}};

// Letters that LaTeX composes from ASCII letters and an accent in any font.
bool is_accented(char32_t code) {
  constexpr std::u32string_view without = U"ÐÞðþĄąĐđĘęĦħĮįĸĿŀŉŊŋŦŧŲųſ";
  return code >= U'À' && code <= U'ž' && without.find(code) == std::u32string_view::npos;
}

std::string beyond_ascii(std::string_view character) {
  const Replacement* symbol = find_by(symbols, character, &Replacement::character);
  if (symbol) return std::string(symbol->latex);
  const auto code = static_cast<char32_t>(decode_code_point(character, 0).code);
  for (const Script& script : scripts) {
    const std::size_t place = script.characters.find(code);
    if (place == script.characters.npos) continue;
    return fmt::format("${}{{{}}}$", script.sign, script.plain[place]);
  }
  if (is_accented(code)) return std::string(character);
  return fmt::format("\\unicodechar{{{:04X}}}{{{}}}", static_cast<std::uint32_t>(code), character);
}

template <class OfAscii>
std::string replaced(std::string_view text, OfAscii of_ascii) {
  std::string result;
  each_code_point(text, [&](CodePoint, std::string_view character) {
    result += character.size() == 1 ? std::string(of_ascii(character)) : beyond_ascii(character);
  });
  return result;
}

// \fitted{…} shrinks mathematics that is wider or higher than the page.
constexpr std::string_view preamble = R"(\documentclass[a4paper]{article}
\usepackage{amsmath}
\usepackage{graphicx}
\setcounter{secnumdepth}{0}
\setlength{\parindent}{0pt}
\setlength{\parskip}{6pt plus 2pt}
\setlength{\oddsidemargin}{0pt}
\setlength{\textwidth}{455pt}
\emergencystretch=3em
\newsavebox{\fittedbox}
\newcommand{\fitted}[1]{\sbox{\fittedbox}{$\displaystyle #1$}%
  \ifdim\wd\fittedbox>\linewidth\sbox{\fittedbox}{\resizebox{\linewidth}{!}{\usebox{\fittedbox}}}\fi
  \ifdim\dimexpr\ht\fittedbox+\dp\fittedbox>0.9\textheight
    \sbox{\fittedbox}{\resizebox{!}{0.9\textheight}{\usebox{\fittedbox}}}\fi
  \par\nopagebreak{\centering\usebox{\fittedbox}\par}}
% pdflatex's fonts lack many letters: their code points stand for them. xelatex and lualatex have
% them, given a font that does: \usepackage{fontspec}\setmainfont{...}
\ifdefined\Umathchar\newcommand{\unicodechar}[2]{#2}
\else\newcommand{\unicodechar}[2]{{\footnotesize\texttt{U+#1}}}\fi
\begin{document}

)";

// TeX has no lengths above 16383pt: a table block must stay below, whatever its labels.
constexpr std::size_t max_label_width = 24;
constexpr std::size_t max_columns = 16;
constexpr std::size_t max_rows = 40;
constexpr std::size_t max_line_bytes = 2000;  // of arithmetic, in bytes

std::string label_text(const std::string& label) {
  return fmt::format("\\text{{{}}}", latex_text(shortened(label, max_label_width)));
}

// A part of a table that fits a page.
struct TableBlock {
  std::size_t row, rows, column, columns;
};

std::string row_text(const DocumentTable& table, std::size_t row, const TableBlock& block) {
  const auto numbers =
      mapped(std::span(table.rows[row]).subspan(block.column, block.columns), [&](double x) {
        return std::isnan(x) ? "\\text{nan}" : latex_number(x, cell_text(x, table.style));
      });
  return fmt::format("{} \\\\\n", fmt::join(numbers, " & "));
}

// Between brackets, or with labels.
std::string array_text(const DocumentTable& table, const TableBlock& block) {
  const bool labelled = !table.row_labels.empty();
  std::string text =
      fmt::format("\\begin{{array}}{{{}*{{{}}}{{r}}}}\n", labelled ? "l|" : "", block.columns);
  for (std::size_t j = block.column; labelled && j < block.column + block.columns; ++j) {
    text += " & " + (j < table.columns.size() ? label_text(table.columns[j]) : "");
  }
  text += labelled ? " \\\\ \\hline\n" : "";
  for (std::size_t i = block.row; i < block.row + block.rows; ++i) {
    const std::string label = labelled ? label_text(table.row_labels[i]) + " & " : "";
    text += "  " + label + row_text(table, i, block);
  }
  text += "\\end{array}";
  return labelled ? text : "\\left[" + text + "\\right]";
}

// If the table has several blocks, each has a heading.
std::string latex_table(const DocumentTable& table) {
  const std::size_t columns = table.rows.front().size();
  const bool one = table.rows.size() <= max_rows && columns <= max_columns;
  std::string text = table.title.empty() ? "" : fmt::format("{}:\n", latex_text(table.title));
  for (std::size_t i = 0; i < table.rows.size(); i += max_rows) {
    for (std::size_t j = 0; j < columns; j += max_columns) {
      const TableBlock block{i, std::min(max_rows, table.rows.size() - i), j,
                             std::min(max_columns, columns - j)};
      if (!one) {
        text += fmt::format("Rows {}--{}, columns {}--{}:\n", i + 1, i + block.rows, j + 1,
                            j + block.columns);
      }
      text += fmt::format("\\fitted{{{}}}\n", array_text(table, block));
    }
  }
  return text;
}

std::string latex_heading(int level, const std::string& text) {
  if (level == 1) return fmt::format("{{\\LARGE {}\\par}}\n", latex_prose(text));
  return fmt::format("\\{}section{{{}}}\n", level == 2 ? "" : "sub", latex_prose(text));
}

std::string latex_passage(const Passage& passage) {
  if (passage.kind == Passage::Kind::code) {
    // Commands to type: every blank stays, and minus signs do not become dashes.
    return "{\\ttfamily\\frenchspacing\\obeylines\\obeyspaces%\n" +
           latex_text(passage.as_written()) + "\\par}\n";
  }
  return fmt::format("{}{}\\par\n",
                     passage.kind == Passage::Kind::item ? "\\hangindent=1em $\\bullet$ " : "",
                     latex_prose(passage.on_one_line()));
}

std::string latex_formula(const std::string& text) {
  return fmt::format("\\begin{{center}}{}\\end{{center}}\n", latex_text(text));
}

std::string latex_arithmetic(const CellArithmetic& worked) {
  std::string lines;
  std::string start = worked.cell;
  for (std::size_t i = 0; i < worked.lines.size(); ++i) {
    const std::string& line = worked.lines[i];
    if (start.size() + line.size() > max_line_bytes) return {};  // labels as long as sentences
    lines += fmt::format("{} &{} {} \\\\\n", sanitise(start), worked.signs[i], sanitise(line));
    start.clear();
  }
  return fmt::format("One cell:\n\\fitted{{\\begin{{aligned}}\n{}\\end{{aligned}}}}\n",
                     latex_characters(lines));
}

constexpr DocumentFormat latex_format{.heading = latex_heading,
                                      .passage = latex_passage,
                                      .formula = latex_formula,
                                      .table = latex_table,
                                      .arithmetic = latex_arithmetic,
                                      .look = {.max_terms = 6, .notation = Notation::latex}};

}  // namespace

std::string latex_text(std::string_view text) {
  // An empty group keeps -- from becoming a dash, and ?` and !` from becoming ¿ and ¡.
  return replaced(text, [](std::string_view character) {
    const Replacement* mark = find_by(marks, character, &Replacement::character);
    if (mark) return std::string(mark->latex);
    const bool with_backslash = std::string_view("{}&#%_").find(character) != character.npos;
    const bool before_group = std::string_view("-`'?!").find(character) != character.npos;
    return (with_backslash ? "\\" : "") + std::string(character) + (before_group ? "{}" : "");
  });
}

std::string latex_prose(std::string_view text) {
  std::string quoted;
  for (const char c : text) {
    const bool opens = quoted.empty() || contains(std::string_view(" \n([{-/"), quoted.back());
    quoted += c != '"' ? std::string_view(&c, 1) : opens ? "“" : "”";
  }
  return latex_text(quoted);
}

std::string latex_characters(std::string_view latex) {
  static constexpr std::string_view misrendered = "<>|\"";  // by the default fonts
  return replaced(latex, [](std::string_view character) {
    const Replacement* mark = find_by(marks, character, &Replacement::character);
    const bool is_misrendered = misrendered.find(character) != std::string_view::npos;
    return mark && is_misrendered ? mark->latex : character;
  });
}

std::string latex_document(const Lesson& lesson, const Trace& trace, const DocumentStyle& look) {
  std::string text(preamble);
  for (const DocumentPart& part : document_of(lesson, trace, look, latex_format))
    text += part.text + "\n";
  return text + "\\end{document}\n";
}

}  // namespace qkv::inline document
