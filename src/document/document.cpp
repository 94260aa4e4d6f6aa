#include "document/document.hpp"

#include "exposition/arithmetic.hpp"
#include "exposition/exposition.hpp"

namespace qkv::inline document {
namespace {

constexpr int max_terms = 9;

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
  if (!result.empty() && std::string_view("-+=:%").find(result[0]) != std::string_view::npos) {
    result.insert(0, "\\");
  }
  return result;
}

std::string code(std::string_view lines) {
  return "    " + replace_all(lines, "\n", "\n    ") + "\n";
}

std::string row_text(const std::vector<std::string>& cells) {
  return fmt::format("| {} |\n", fmt::join(cells, " | "));
}

class MarkdownWriter {
 public:
  MarkdownWriter(const Trace& trace, const DocumentStyle& look) : trace_(trace), look_(look) {}

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
                      {.digits = look_.digits, .max_terms = max_terms, .minus = typeset_minus});
    if (worked.lines.size() < 2) return {};
    std::string lines;
    std::string start = worked.cell;
    for (std::size_t i = 0; i < worked.lines.size(); ++i) {
      lines += fmt::format("{}{} {} {}", i == 0 ? "" : "\n", sanitise(start), worked.signs[i],
                           sanitise(worked.lines[i]));
      start = " ";
    }
    return "One cell:\n\n" + code(lines);
  }

 private:
  static std::string prose(const Passage& passage) {
    return escaped_line(with_minus_signs(passage.on_one_line()));
  }

  const Trace& trace_;
  const DocumentStyle& look_;
};

using Parts = std::vector<DocumentBlock>;

// A note replaces larger tables: other formats suit them.
constexpr std::size_t max_document_cells = 4096;

void add_passages(Parts& parts, std::vector<Passage> passages) {
  for (Passage& passage : passages) {
    if (!passage.on_one_line().empty()) parts.emplace_back(std::move(passage));
  }
}

void add_prose(Parts& parts, const std::string& prose) { add_passages(parts, passages_of(prose)); }

std::vector<std::string> safe_labels(const std::vector<std::string>& labels) {
  std::vector<std::string> safe;
  for (const std::string& label : labels) safe.push_back(sanitise_label(label));
  return safe;
}

DocumentTable table_of(std::size_t rows, std::size_t columns, std::span<const double> values,
                       const MatrixLabels& labels, const DocumentStyle& look) {
  DocumentTable table{.title = {}, .row_labels = {}, .columns = {}, .rows = {}};
  if (look.labels) {
    table.row_labels = safe_labels(labels.rows);
    table.columns = safe_labels(labels.columns);
  }
  for (std::size_t i = 0; i < rows; ++i) {
    const auto row = values.subspan(i * columns, columns);
    table.rows.emplace_back(row.begin(), row.end());
  }
  table.style = style_for(values, look.digits);
  return table;
}

// The ids of a batch, each sentence under its own tokens.
void add_sentences(Parts& parts, const Tensor& ids, const DocumentStyle& look) {
  for (std::size_t b = 0; b < ids.rows(); ++b) {
    const auto row = std::span(ids.values).subspan(b * ids.columns(), ids.columns());
    parts.emplace_back(table_of(1, ids.columns(), row, labels_of_sentence(ids, b), look));
  }
}

void add_tensor(Parts& parts, const Tensor& tensor, TokenLayout token_layout,
                const DocumentStyle& look) {
  if (tensor.values.empty()) return add_prose(parts, "It holds no numbers.");
  if (tensor.values.size() > max_document_cells) {
    return add_prose(
        parts, fmt::format("Its {} numbers are too many for a page; qkv export writes them as csv "
                           "or npy.",
                           tensor.values.size()));
  }
  if (words_differ_by_row(tensor)) return add_sentences(parts, tensor, look);
  const Tensor shown = as_shown(tensor, token_layout);
  for (std::size_t m = 0; m < shown.matrices(); ++m) {
    DocumentTable table = table_of(shown.rows(), shown.columns(), shown.cells(m),
                                   full_labels(tensor, m, token_layout), look);
    if (shown.matrices() > 1) table.title = matrix_name(tensor, m);
    parts.emplace_back(std::move(table));
  }
}

class DocumentWriter {
 public:
  DocumentWriter(Parts& parts, const Trace& trace, const DocumentStyle& look)
      : parts_(parts), trace_(trace), look_(look) {}

  void operator()(const LessonTitle& title) const { heading(1, title.text); }

  void operator()(const StepTitle& step) const {
    heading(2, fmt::format("{}. {}: {}", step.number, step.name, step.title));
  }

  void operator()(const ProseBlock& words) const { add_passages(parts_, with_introduction(words)); }

  void operator()(const Formula& formula) const {
    parts_.emplace_back(DocumentFormula{sanitise(formula_text(formula))});
  }

  void operator()(const MatrixBlock& matrix_block) const {
    const std::string sized = fmt::format("{} ({})", matrix_block.title, matrix_block.shape);
    switch (matrix_block.role) {
      case MatrixBlock::Role::given: heading(3, "Given: " + sized); break;
      case MatrixBlock::Role::intermediate: heading(3, "In between: " + matrix_block.title); break;
      case MatrixBlock::Role::result: heading(3, sized); break;
    }
    add_tensor(parts_, *matrix_block.tensor, trace_.token_layout, look_);
  }

  void operator()(const HiddenGivens& givens) const {
    add_prose(parts_, fmt::format("Given, not shown: {}.", givens.names));
  }

  void operator()(const ChangeNote& changes) const { add_prose(parts_, changes.text); }

  void operator()(const WorkedCell& worked) const {
    parts_.emplace_back(DocumentArithmetic{worked.cell});
  }

 private:
  void heading(int level, const std::string& text) const {
    parts_.emplace_back(DocumentHeading{level, sanitise(text)});
  }

  Parts& parts_;
  const Trace& trace_;
  const DocumentStyle& look_;
};

}  // namespace

std::string markdown_document(const Lesson& lesson, const Trace& trace, const DocumentStyle& look) {
  const MarkdownWriter writer(trace, look);
  std::string text;
  bool after_item = false;
  for (const DocumentBlock& part : document_of(lesson, trace, look)) {
    const std::string block = std::visit(writer, part);
    if (block.empty()) continue;
    const auto* passage = std::get_if<Passage>(&part);
    const bool item = passage && passage->kind == Passage::Kind::item;
    if (!text.empty() && !(after_item && item)) text += '\n';  // a blank line separates blocks
    // Code right after a list would belong to its last item.
    if (after_item && block.starts_with("    ")) text += "<!-- -->\n\n";
    text += block;
    after_item = item;
  }
  return text;
}

std::vector<DocumentBlock> document_of(const Lesson& lesson, const Trace& trace,
                                       const DocumentStyle& look) {
  Parts parts;
  const DocumentWriter writer(parts, trace, look);
  for (const Block& piece : lesson_opening(lesson)) std::visit(writer, piece);
  for (const Step& step : trace.steps) {
    const Outline outline{.digits = look.digits, .only = look.only};
    for (const Block& piece : describe_step(lesson, trace, step, outline))
      std::visit(writer, piece);
  }
  return parts;
}

}  // namespace qkv::inline document
