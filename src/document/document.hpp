#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lesson/lesson.hpp"
#include "text/number.hpp"
#include "text/wrapping.hpp"
#include "trace/reference.hpp"
#include "trace/trace.hpp"

namespace qkv::inline document {

/// How a lesson looks as a document.
struct DocumentStyle {
  int digits = 4;
  bool labels = true;
  std::vector<std::string> only = {};  ///< these steps and givens; empty for everything
};

/// The parts of a document. All texts are safe to show; none is escaped for a format yet.
struct DocumentHeading {
  int level = 1;
  std::string text;
};
struct DocumentFormula {
  std::string text;  ///< `Q (7×2) · Kᵀ (2×7) → scores (7×7)`
};
struct DocumentTable {
  std::string title;                             ///< "head 2"; empty where there is one matrix
  std::vector<std::string> row_labels, columns;  ///< empty where they are left out
  std::vector<std::vector<double>> rows;
  NumberStyle style = {};
};
struct DocumentArithmetic {
  CellReference cell;  ///< one cell that is worked out
};

using DocumentBlock =
    std::variant<DocumentHeading, Passage, DocumentFormula, DocumentTable, DocumentArithmetic>;

/// A tensor of more numbers than this is left to the formats made for it; the document says so.
inline constexpr std::size_t max_document_cells = 4096;

/// The walk of a lesson in what both documents have: headings, passages and tables.
std::vector<DocumentBlock> document_of(const Lesson& lesson, const Trace& trace,
                                       const DocumentStyle& look);

/// The document in Markdown, with tables as GitHub and pandoc read them.
std::string markdown_document(const Lesson& lesson, const Trace& trace, const DocumentStyle& look);

/// The document in LaTeX, complete: pdflatex needs no package beyond amsmath and graphicx. Letters
/// that its fonts lack show as their code points; xelatex and lualatex show them.
std::string latex_document(const Lesson& lesson, const Trace& trace, const DocumentStyle& look);

}  // namespace qkv::inline document
