#pragma once

#include "exposition/exposition.hpp"
#include "exposition/selection.hpp"

namespace qkv::inline page {

struct ReportOptions {
  int digits = 4;                        ///< decimals of displayed numbers
  std::string command;                   ///< the command that makes this report, for its last line
  std::vector<std::size_t> steps = {};   ///< indices of steps in the trace; empty for all
  std::optional<std::size_t> head = {};  ///< show only this head
  std::function<void()> on_step = {};    ///< called after each step is written
};

/// Writes the walk as one self-contained HTML page: every step with its formula, prose,
/// heatmaps and one cell's arithmetic. The script in it shows the arithmetic and sources of any
/// other cell. The content security policy allows nothing else to run or load, so that a lesson's
/// texts stay text.
void write_report(const Lesson& lesson, const Trace& trace, const ReportOptions& wish,
                  const Sink& sink);

/// The style sheet and the script of the page.
std::string_view report_style();
std::string_view report_script();

enum class SheetKind { blank, key };

struct WorksheetStyle {
  int digits = 4;          ///< decimals of the givens
  std::string check = {};  ///< the command that checks the result
  std::string part = {};   ///< what it asks for, in words: "row cat, head 1"; empty for all
  SheetKind kind = SheetKind::blank;
};

/// Returns a worksheet as one HTML page for A4 or Letter paper, in black and white. After the text
/// come the steps that it asks for: number, name, title, explanation, formula with shapes, one cell
/// in names, what is given from here on, and a labelled grid with the asked cells empty. The key
/// has their numbers instead, and the arithmetic of each. Nothing is fetched or run.
std::string worksheet_page(const Lesson& lesson, const WorksheetCells& cells,
                           const WorksheetStyle& look);

/// Returns a name or line as sanitised HTML that runs from left to right. Its only tags isolate
/// labels in letters from the right, so that the rest keeps its place: `Q[<bdi>החתול</bdi>,1]`.
std::string html_text(std::string_view text);

/// Returns the text for an attribute or the page's title, where tags are not allowed.
std::string html_attribute(std::string_view text);

/// Return words whose first letter decides in the browser in which direction they run: inside a
/// line, or as an element. Example: `html_element("h1", "The cat")` is `<h1 dir="auto">The
/// cat</h1>`.
std::string html_inline(std::string_view text);
std::string html_element(std::string_view tag, std::string_view text);

/// Returns a row's or column's label as a header cell; a long one is whole in the tooltip only.
std::string html_label(std::string_view label, std::string_view attributes = "");

/// Returns prose as paragraphs, lists and code.
std::string html_prose(const std::vector<Passage>& passages);

/// Returns a step's formula, each operand with its shape in <small>.
std::string html_formula(const Formula& formula);

/// Escapes JSON for a <script> element: it cannot end the script or begin a comment.
std::string json_for_html(std::string_view json);

}  // namespace qkv::inline page
