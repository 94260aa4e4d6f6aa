#pragma once

#include "exposition/arithmetic.hpp"
#include "text/number.hpp"
#include "text/unicode.hpp"

namespace qkv::inline document {

/// Options of a document.
struct DocumentStyle {
  int digits = 4;
  bool labels = true;
  std::vector<std::string> only = {};  ///< names of steps and givens; empty for all
};

/// A matrix of a document, of which another owns the numbers. Its texts are sanitised but not
/// escaped for a format.
struct DocumentTable {
  std::string title = {};  ///< "head 2"; empty if there is one matrix
  std::vector<std::string> row_labels = {}, columns = {};  ///< empty if labels are off
  std::vector<std::span<const double>> rows;
  NumberStyle style = {};
};

/// How a format writes the parts of a document. Texts are sanitised but not escaped.
struct DocumentFormat {
  std::string (*heading)(int level, const std::string& text);
  std::string (*passage)(const Passage& passage);
  std::string (*formula)(const std::string& text);  ///< `Q (7×2) · Kᵀ (2×7) → scores (7×7)`
  std::string (*table)(const DocumentTable& table);
  std::string (*arithmetic)(const CellArithmetic& worked);  ///< of two lines or more
  ArithmeticStyle look;                                     ///< its digits are the document's
};

/// A written part: a heading, a passage, a table. Some are empty.
struct DocumentPart {
  std::string text;
  bool is_item = false;  ///< of a list
};

/// Returns the lesson in the parts that all formats share.
std::vector<DocumentPart> document_of(const Lesson& lesson, const Trace& trace,
                                      const DocumentStyle& look, const DocumentFormat& format);

/// Returns a Markdown document, with tables as GitHub and pandoc read them.
std::string markdown_document(const Lesson& lesson, const Trace& trace, const DocumentStyle& look);

/// Returns a complete LaTeX document, which needs only amsmath and graphicx. Letters that
/// pdflatex's fonts lack print as code points; xelatex and lualatex show them.
std::string latex_document(const Lesson& lesson, const Trace& trace, const DocumentStyle& look);

/// Escapes sanitised text (text/unicode.hpp) for LaTeX's text mode or \text. √ and ᵀ become
/// mathematics; characters that pdflatex's fonts lack become \unicodechar{732B}{猫}, a command that
/// the document defines.
std::string latex_text(std::string_view text);

/// Escapes prose and headings as latex_text does, with straight quotes as `` and ''.
std::string latex_prose(std::string_view text);

/// Replaces non-ASCII characters in LaTeX code, such as a cell's arithmetic, and ASCII that the
/// default fonts show as other characters. Commands stay.
std::string latex_characters(std::string_view latex);

}  // namespace qkv::inline document
