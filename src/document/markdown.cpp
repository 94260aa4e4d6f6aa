#include <fmt/format.h>

#include <algorithm>

#include "document/document.hpp"
#include "exposition/arithmetic.hpp"
#include "text/escape.hpp"
#include "text/typeset.hpp"

namespace qkv {
namespace {

constexpr int most_terms = 9;

// Text in which no character means anything but itself. CommonMark lets every ASCII mark stand
// after a backslash; pandoc also reads $, ^, ~ and @.
std::string escaped(std::string_view text) {
  constexpr std::string_view marks = "\\`*_{}[]<>#|!~$^@&";
  std::string result;
  for (const char c : text) {
    if (marks.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

// The same where a line begins: there "-", "+", "1." and "===" mean something as well.
std::string escaped_line(std::string_view text) {
  std::string result = escaped(text);
  const std::size_t digits = std::min(result.find_first_not_of("0123456789"), result.size());
  const bool ordered =
      digits > 0 && digits < result.size() && (result[digits] == '.' || result[digits] == ')');
  if (ordered) result.insert(digits, "\\");
  if (!result.empty() && std::string_view("-+=:%").find(result[0]) != std::string_view::npos) {
    result.insert(0, "\\");
  }
  return result;
}

// Lines that stand as they are, whatever is in them.
std::string code(std::string_view lines) {
  std::string text = "    ";
  for (const char c : lines) {
    text += c;
    if (c == '\n') text += "    ";
  }
  return text + "\n";
}

std::string row_text(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells) text += fmt::format(" {} |", cell);
  return text + "\n";
}

class MarkdownWriter {
 public:
  MarkdownWriter(const Trace& trace, const DocumentLook& look) : trace_(trace), look_(look) {}

  std::string operator()(const DocumentHeading& heading) const {
    return fmt::format("{} {}\n", std::string(static_cast<std::size_t>(heading.level), '#'),
                       escaped(heading.text));
  }

  std::string operator()(const Passage& passage) const {
    switch (passage.kind) {
      case Passage::Kind::code: return code(passage.as_written());
      case Passage::Kind::item: return "- " + prose(passage) + "\n";
      case Passage::Kind::paragraph: return prose(passage) + "\n";
    }
    return {};
  }

  std::string operator()(const DocumentFormula& formula) const { return code(formula.text); }

  std::string operator()(const DocumentTable& table) const {
    const bool labelled = !table.row_labels.empty();
    const std::size_t columns = table.rows.front().size();
    std::vector<std::string> header(labelled ? 1 : 0);
    std::vector<std::string> rule(labelled ? 1 : 0, ":--");
    for (std::size_t j = 0; j < columns; ++j) {
      header.push_back(j < table.columns.size() ? escaped(table.columns[j]) : "");
      rule.emplace_back("--:");
    }
    std::string text = table.title.empty() ? "" : escaped(table.title) + ":\n\n";
    text += row_text(header) + row_text(rule);
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      std::vector<std::string> cells;
      if (labelled) cells.push_back(escaped(table.row_labels[i]));
      for (const double value : table.rows[i]) {
        cells.push_back(with_minus_signs(cell_text(value, table.style)));
      }
      text += row_text(cells);
    }
    return text;
  }

  std::string operator()(const DocumentArithmetic& arithmetic) const {
    const CellArithmetic worked =
        arithmetic_of(trace_, arithmetic.cell,
                      {.digits = look_.digits, .most_terms = most_terms, .minus = typeset_minus});
    if (worked.lines.size() < 2) return {};
    std::string lines;
    std::string start = worked.cell;
    for (const std::string& line : worked.lines) {
      lines += fmt::format("{}{} = {}", lines.empty() ? "" : "\n", visible(start), visible(line));
      start = " ";
    }
    return "One cell:\n\n" + code(lines);
  }

 private:
  static std::string prose(const Passage& passage) {
    return escaped_line(with_minus_signs(passage.on_one_line()));
  }

  const Trace& trace_;
  const DocumentLook& look_;
};

bool is_item(const DocumentPart& part) {
  const auto* passage = std::get_if<Passage>(&part);
  return passage != nullptr && passage->kind == Passage::Kind::item;
}

}  // namespace

std::string markdown_document(const Lesson& lesson, const Trace& trace, const DocumentLook& look) {
  const MarkdownWriter writer(trace, look);
  std::string text;
  bool after_item = false;
  for (const DocumentPart& part : document_of(lesson, trace, look)) {
    const std::string block = std::visit(writer, part);
    if (block.empty()) continue;
    const bool item = is_item(part);
    if (!text.empty() && !(after_item && item)) text += '\n';  // a blank line parts blocks
    // Code right after a list would belong to its last item.
    if (after_item && block.starts_with("    ")) text += "<!-- -->\n\n";
    text += block;
    after_item = item;
  }
  return text;
}

}  // namespace qkv
