#include "document/document.hpp"

#include "exposition/exposition.hpp"

namespace qkv::inline document {
namespace {

// Escapes Markdown. CommonMark allows \ before every ASCII mark; pandoc also reads $, ^, ~, @.
std::string escaped(std::string_view text) {
  constexpr std::string_view marks = "\\`*_{}[]<>#|!~$^@&";
  std::string result;
  for (const char c : text) {
    if (marks.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

// The same at the start of a line, where "-", "+", "1." and "===" are special, too.
std::string escaped_line(std::string_view text) {
  std::string result = escaped(text);
  const std::size_t digits = std::min(result.find_first_not_of("0123456789"), result.size());
  const bool ordered =
      digits > 0 && digits < result.size() && (result[digits] == '.' || result[digits] == ')');
  if (ordered) result.insert(digits, "\\");
  if (!result.empty() && contains(std::string_view("-+=:%"), result[0])) result.insert(0, "\\");
  return result;
}

std::string code(const std::string& lines) {
  return "    " + replace_all(lines, "\n", "\n    ") + "\n";
}

std::string row_text(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

std::string markdown_heading(int level, const std::string& text) {
  return fmt::format("{} {}\n", std::string(static_cast<std::size_t>(level), '#'), escaped(text));
}

std::string markdown_passage(const Passage& passage) {
  if (passage.kind == Passage::Kind::code) return code(passage.as_written());
  return fmt::format("{}{}\n", passage.kind == Passage::Kind::item ? "- " : "",
                     escaped_line(with_minus_signs(passage.on_one_line())));
}

std::string markdown_table(const DocumentTable& table) {
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

std::string markdown_arithmetic(const CellArithmetic& worked) {
  std::string lines;
  for (std::size_t i = 0; i < worked.lines.size(); ++i) {
    lines += fmt::format("{} {} {}", i == 0 ? sanitise(worked.cell) : "\n ", worked.signs[i],
                         sanitise(worked.lines[i]));
  }
  return "One cell:\n\n" + code(lines);
}

constexpr DocumentFormat markdown_format{.heading = markdown_heading,
                                         .passage = markdown_passage,
                                         .formula = code,
                                         .table = markdown_table,
                                         .arithmetic = markdown_arithmetic,
                                         .look = {.max_terms = 9, .minus = typeset_minus}};

// A note replaces larger tables: other formats suit them.
constexpr std::size_t max_document_cells = 4096;

DocumentTable table_of(std::size_t rows, std::size_t columns, std::span<const double> values,
                       const MatrixLabels& labels, const DocumentStyle& look) {
  const auto row_at = [&](std::size_t i) { return values.subspan(i * columns, columns); };
  DocumentTable table{.rows = mapped_places(rows, row_at), .style = style_for(values, look.digits)};
  if (look.labels) {
    table.row_labels = mapped(labels.rows, sanitise_label);
    table.columns = mapped(labels.columns, sanitise_label);
  }
  return table;
}

struct DocumentWriter {
  const Trace& trace;
  const DocumentStyle& style;
  const DocumentFormat& format;
  std::vector<DocumentPart> parts = {};

  void operator()(const LessonTitle& title) { heading(1, title.text); }

  void operator()(const StepTitle& step) {
    heading(2, fmt::format("{}. {}: {}", step.number, step.name, step.title));
  }

  void operator()(const ProseBlock& words) { add_passages(with_introduction(words)); }

  void operator()(const Formula& formula) { add(format.formula(sanitise(formula_text(formula)))); }

  void operator()(const MatrixBlock& matrix_block) {
    // In the order of MatrixBlock::Role.
    constexpr std::string_view headings[] = {"Given: {} ({})", "In between: {}", "{} ({})"};
    heading(3, fmt::format(fmt::runtime(headings[static_cast<std::size_t>(matrix_block.role)]),
                           matrix_block.title, matrix_block.shape));
    add_tensor(*matrix_block.tensor);
  }

  void operator()(const HiddenGivens& givens) {
    add_prose(fmt::format("Given, not shown: {}.", givens.names));
  }

  void operator()(const WorkedCell& cell) {
    ArithmeticStyle look = format.look;
    look.digits = style.digits;
    const CellArithmetic worked = arithmetic_of(trace, cell.cell, look);
    add(worked.lines.size() < 2 ? std::string() : format.arithmetic(worked));
  }

  void add(std::string text) { parts.push_back({std::move(text)}); }
  void heading(int level, const std::string& text) { add(format.heading(level, sanitise(text))); }

  void add_passages(const std::vector<Passage>& passages) {
    for (const Passage& passage : passages) {
      if (passage.on_one_line().empty()) continue;
      parts.push_back({format.passage(passage), passage.kind == Passage::Kind::item});
    }
  }

  void add_prose(const std::string& prose) { add_passages(passages_of(prose)); }

  void add_tensor(const Tensor& tensor) {
    if (tensor.values.empty()) return add_prose("It holds no numbers.");
    if (tensor.values.size() > max_document_cells) {
      return add_prose(
          fmt::format("Its {} numbers are too many for a page; qkv export writes them as csv or "
                      "npy.",
                      tensor.values.size()));
    }
    const std::size_t columns = tensor.columns();
    // The ids of a batch: each sentence under its own tokens.
    for (std::size_t b = 0; words_differ_by_row(tensor) && b < tensor.rows(); ++b) {
      const auto row = std::span(tensor.values).subspan(b * columns, columns);
      add(format.table(table_of(1, columns, row, labels_of_sentence(tensor, b), style)));
    }
    if (words_differ_by_row(tensor)) return;
    const Tensor shown = as_shown(tensor, trace.token_layout);
    for (std::size_t m = 0; m < shown.matrices(); ++m) {
      DocumentTable table = table_of(shown.rows(), shown.columns(), shown.cells(m),
                                     full_labels(tensor, m, trace.token_layout), style);
      if (shown.matrices() > 1) table.title = matrix_name(tensor, m);
      add(format.table(table));
    }
  }
};

}  // namespace

std::string markdown_document(const Lesson& lesson, const Trace& trace, const DocumentStyle& look) {
  std::string text;
  bool after_item = false;
  for (const DocumentPart& part : document_of(lesson, trace, look, markdown_format)) {
    if (part.text.empty()) continue;
    if (!text.empty() && !(after_item && part.is_item)) text += '\n';  // a blank line between
    // Code right after a list would belong to its last item.
    if (after_item && part.text.starts_with("    ")) text += "<!-- -->\n\n";
    text += part.text;
    after_item = part.is_item;
  }
  return text;
}

std::vector<DocumentPart> document_of(const Lesson& lesson, const Trace& trace,
                                      const DocumentStyle& look, const DocumentFormat& format) {
  DocumentWriter writer{trace, look, format};
  for (const Block& piece : lesson_opening(lesson)) std::visit(writer, piece);
  const Outline outline{.digits = look.digits, .only = look.only, .intermediates = true};
  for (const Step& step : trace.steps) {
    for (const Block& piece : describe_step(lesson, trace, step, outline))
      std::visit(writer, piece);
  }
  return std::move(writer.parts);
}

}  // namespace qkv::inline document
