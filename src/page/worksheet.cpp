#include "page/pages.hpp"

#include "exposition/arithmetic.hpp"
#include "terminal/grid.hpp"

namespace qkv::inline page {
namespace {

// The most columns that fit on paper in handwriting; a wider matrix becomes several grids.
constexpr std::size_t max_worksheet_columns = 10;
constexpr std::size_t max_worksheet_rows = 22;

// Matrices with more cells (all heads together) go to CSV files instead, and the page says so.
constexpr std::size_t max_printed_cells = 4096;

constexpr std::string_view style = R"(
@page { margin: 14mm 12mm; @bottom-right { content: counter(page) " / " counter(pages);
        font: 9pt sans-serif; } }
* { box-sizing: border-box; }
body { max-width: 186mm; margin: 0 auto; color: #000; background: #fff;
       font: 11pt/1.35 Georgia, "Times New Roman", serif; }
h1 { font-size: 17pt; line-height: 1.2; margin: 0 0 2mm; overflow-wrap: anywhere; }
h2 { font-size: 13pt; margin: 0 0 1mm; break-after: avoid; overflow-wrap: anywhere; }
p { margin: 0 0 1.5mm; overflow-wrap: anywhere; }
section { orphans: 1; widows: 1; margin: 6mm 0 0; padding-top: 3mm; border-top: 0.4mm solid #000; }
header p, .rules { font-size: 10pt; }
.who { display: flex; gap: 6mm; margin: 3mm 0; }
.who span { flex: 2; border-bottom: 0.25mm solid #000; padding-bottom: 1mm; }
.who span + span { flex: 1; }
.lead { break-inside: avoid; break-after: avoid; }
.formula { font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 10pt; }
figure { display: inline-block; vertical-align: top; margin: 1mm 7mm 3mm 0; break-inside: avoid; }
figcaption { font-size: 9.5pt; font-style: italic; margin-bottom: 0.5mm; }
table { border-collapse: collapse; break-inside: avoid;
        font: 9.5pt/1.15 "DejaVu Sans", Arial, sans-serif; }
th { unicode-bidi: plaintext; font-weight: normal; padding: 0.6mm 1.2mm; max-width: 24mm; overflow-wrap: anywhere; }
tbody th { text-align: right; }
td { border: 0.25mm solid #000; height: 8mm; min-width: 15mm; padding: 0 1.2mm;
     text-align: right; white-space: nowrap; }
.given td, td.given { background: #eee; }
.given td { min-width: 9mm; }
td.unused { border-color: #bbb; color: #666; text-align: center; }
td.key { font-weight: bold; } .under { font-size: 0; }
.arithmetic p { margin: 0 0 0.8mm; padding-left: 6mm; text-indent: -6mm; font-size: 9pt; }
@media print { .given td, td.given { background: none; } td.given { font-style: italic; } }
pre { line-height: 1.15; white-space: pre-wrap; } @media screen { body { padding: 6mm 4mm; } }
code, pre { font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: 9.5pt;
       overflow-wrap: anywhere; }
)";

// Divides the indices into as few parts of at most `most` as possible, about equally long.
std::vector<Indices> grid_parts(std::size_t count, std::size_t most) {
  const std::size_t pieces = std::max<std::size_t>(1, (count + most - 1) / most);
  return mapped_places(pieces, [&](std::size_t p) {
    return Indices{p * count / pieces, (p + 1) * count / pieces};
  });
}

// One matrix in display layout, with the rows and columns of which the worksheet uses a cell.
struct PrintedMatrix {
  MatrixLabels labels;
  std::span<const double> values;
  NumberStyle style;
  std::vector<CellUse> uses;
  std::vector<std::size_t> rows = {}, columns = {};
};

std::string cell_html(double value, CellUse use, const PrintedMatrix& sheet, SheetKind kind) {
  if (use == CellUse::unused) return "<td class=\"unused\">–</td>";
  const std::string text = with_minus_signs(cell_text(value, sheet.style));
  if (use == CellUse::asked)
    return kind == SheetKind::key ? fmt::format("<td class=\"key\">{}</td>", text) : "<td></td>";
  const bool is_mixed = contains(sheet.uses, CellUse::asked);
  return fmt::format("<td{}>{}</td>", is_mixed ? " class=\"given\"" : "", text);
}

std::string grid_html(const PrintedMatrix& sheet, const Indices& rows, const Indices& columns,
                      SheetKind kind) {
  std::string text = "<table><thead><tr><td style=\"border:0;min-width:0;background:none\"></td>";
  for (std::size_t j = columns.from; j < columns.to; ++j) {
    text += html_label(sheet.labels.columns[sheet.columns[j]]);
  }
  text += "</tr></thead><tbody>\n";
  for (std::size_t i = rows.from; i < rows.to; ++i) {
    text += "<tr>" + html_label(sheet.labels.rows[sheet.rows[i]]);
    for (std::size_t j = columns.from; j < columns.to; ++j) {
      const std::size_t at = sheet.rows[i] * sheet.labels.columns.size() + sheet.columns[j];
      text += cell_html(sheet.values[at], sheet.uses[at], sheet, kind);
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table>\n";
}

std::string caption(const std::string& name, const PrintedMatrix& sheet, const Indices& rows,
                    const Indices& columns) {
  std::string text = name;
  const auto add = [&](std::string_view what, const Indices& part,
                       const std::vector<std::size_t>& all) {
    if (part.size() == all.size()) return;
    text += fmt::format(", {} {} to {}", what, all[part.from] + 1, all[part.to - 1] + 1);
  };
  add("rows", rows, sheet.rows);
  add("columns", columns, sheet.columns);
  return text;
}

// Keeps the rows and columns of which the worksheet uses a cell.
void select_used(PrintedMatrix& sheet) {
  std::set<std::size_t> rows, columns;
  for (std::size_t i = 0; i < sheet.uses.size(); ++i) {
    if (sheet.uses[i] == CellUse::unused) continue;
    rows.insert(i / sheet.labels.columns.size());
    columns.insert(i % sheet.labels.columns.size());
  }
  sheet.rows.assign(rows.begin(), rows.end());
  sheet.columns.assign(columns.begin(), columns.end());
}

// The grids of a tensor side by side, each under its name.
std::string tensor_html(const std::string& title, const std::string& tensor_name,
                        const Tensor& tensor, const WorksheetCells& cells,
                        const WorksheetStyle& look) {
  if (tensor.values.size() > max_printed_cells) {
    return fmt::format("<p>{}: its {} numbers are too many for paper: see the CSV {}.</p>\n",
                       html_text(title), tensor.values.size(),
                       tensor.matrices() == 1 ? "file" : "files");
  }
  const TokenLayout token_layout = cells.trace.token_layout;
  const Tensor shown = as_shown(tensor, token_layout);
  const bool is_given = !cells.has(tensor_name, CellUse::asked);
  std::string text;
  for (std::size_t m = 0; m < shown.matrices(); ++m) {
    PrintedMatrix sheet{.labels = full_labels(tensor, m, token_layout),
                        .values = shown.cells(m),
                        .style = style_for(shown.values, look.digits),
                        .uses = cells.shown_uses(tensor_name, tensor, m, token_layout)};
    select_used(sheet);
    if (sheet.rows.empty()) continue;
    for (const Indices& rows : grid_parts(sheet.rows.size(), max_worksheet_rows)) {
      for (const Indices& columns : grid_parts(sheet.columns.size(), max_worksheet_columns)) {
        const std::string matrix = matrix_name(tensor, m);
        const std::string name = matrix.empty() ? title : fmt::format("{}, {}", title, matrix);
        text += fmt::format("<figure{}><figcaption>{}</figcaption>{}</figure>\n",
                            is_given ? " class=\"given\"" : "",
                            html_text(caption(name, sheet, rows, columns)),
                            grid_html(sheet, rows, columns, look.kind));
      }
    }
  }
  return text;
}

// True if some number of a given that the worksheet prints is rounded there.
bool shows_rounded(const WorksheetCells& cells, const std::string& name, const Tensor& tensor,
                   int digits) {
  const auto uses = cells.uses.find(name);
  if (uses == cells.uses.end() || tensor.values.size() > max_printed_cells) return false;
  const NumberStyle look = style_for(tensor.values, digits);
  const auto is_rounded = [&](std::size_t i) {
    const double x = tensor.values[i];
    return uses->second[i] == CellUse::given && std::isfinite(x) &&
           parse_numeral(cell_text(x, look)).numeral.value != x;
  };
  return !places_where(tensor.values.size(), is_rounded).empty();
}

std::string rules(const WorksheetStyle& look, const WorksheetCells& cells) {
  const std::string part = look.part.empty() ? "" : fmt::format(" ({})", html_text(look.part));
  const bool are_rounded = std::ranges::any_of(cells.trace.givens, [&](const Given& given) {
    return shows_rounded(cells, given.name, given.tensor, look.digits);
  });
  // A sum of products of rounded numbers loses about two decimals.
  const std::string decimals =
      are_rounded ? fmt::format("write {} at most, since some givens are rounded on this page",
                                std::max(look.digits - 2, 0))
                  : "four are enough";
  const std::string count =
      fmt::format("<p class=\"rules\">Numbers to work out: <b>{}</b>{}.</p>\n",
                  group_digits(cells.asked), part);
  if (look.kind == SheetKind::key) return count;
  constexpr std::string_view how =
      "<p class=\"rules\">Work the steps out in order, each from the numbers above it. Keep to the "
      "same number of decimals within a matrix; {}. Write -inf for minus infinity, and "
      "leave blank what you have not done. The CSV files beside this page take the same numbers{}; "
      "then <code>{}</code> says where the first slip is.</p>\n";
  return count + fmt::format(how, decimals, part.empty() ? "" : " (leave a dash as it is)",
                             html_text(look.check));
}

std::string map_html(const Trace& trace) {
  constexpr std::size_t columns = 80;
  std::string lines;
  for (const std::string& line : lines_of(map_text(map_of(trace), columns))) {
    lines += html_text(line) + "\n";
  }
  return fmt::format("<pre>\n{}</pre>\n", lines);
}

// The text and its ids, if a step reads them.
std::string words_html(const Trace& trace) {
  const auto reads_text = [](const Step& step) { return step.operation->max_operands == 0; };
  if (std::ranges::none_of(trace.steps, reads_text)) return {};
  std::string page;
  for (const std::string& text : trace.environment.texts) {
    page += fmt::format("<p>Text: <b>{}</b></p>\n", html_inline(text));
  }
  const std::vector<std::string>& words = trace.environment.vocabulary;
  if (words.empty()) return page + "<p>Ids: from 0, in order of appearance.</p>\n";
  const auto ids = mapped_places(words.size(), [&](std::size_t id) {
    return fmt::format("{} = {}", html_inline(sanitise_label(words[id])), id);
  });
  return page + fmt::format("<p>Ids: {}</p>\n", fmt::join(ids, ", "));
}

constexpr ProseBlock::Role worksheet_opening[] = {ProseBlock::Role::summary,
                                                  ProseBlock::Role::source};

// The task of each step, without numbers of its result.
constexpr Topic worksheet_topics[] = {Topic::title, Topic::gist,   Topic::formula,
                                      Topic::cell,  Topic::givens, Topic::result};

struct WorksheetWriter {
  const Lesson& lesson;
  const WorksheetCells& cells;
  const WorksheetStyle& look;

  std::string operator()(const LessonTitle& title) const {
    return html_element("h1", title.text) + "\n";
  }

  std::string operator()(const StepTitle& step) const {
    return fmt::format("<h2>{}. {}: {}</h2>\n", step.number, html_text(step.name),
                       html_inline(step.title));
  }

  std::string operator()(const ProseBlock& words) const {
    return html_prose(with_introduction(words));
  }

  std::string operator()(const Formula& formula) const {
    return formula_html(html_text(formula_text(formula)));
  }

  // The arithmetic, in names: of the lesson's own cell, or else of one that is asked for.
  std::string operator()(const WorkedCell& worked_cell) const {
    constexpr std::size_t few = 8;
    CellReference cell = worked_cell.cell;
    const Tensor& tensor = cells.trace.at(cell.name);
    const std::vector<CellUse>& uses = cells.uses.find(cell.name)->second;
    if (uses[tensor.index(cell.matrix, cell.row, cell.column)] != CellUse::asked) {
      const auto first = std::ranges::find(uses, CellUse::asked);
      cell = cell_at(cell.name, tensor, static_cast<std::size_t>(first - uses.begin()));
    }
    const CellArithmetic worked =
        arithmetic_of(cells.trace, cell, {.max_terms = few, .minus = typeset_minus});
    if (worked.lines.size() < 2 || look.kind == SheetKind::key) return {};
    return formula_html(html_text(worked.cell) + " = " + html_text(worked.lines.front()));
  }

  std::string operator()(const MatrixBlock& matrix_block) const {
    const Tensor& tensor = *matrix_block.tensor;
    const std::string& name = matrix_block.title;
    if (matrix_block.role != MatrixBlock::Role::given) {
      return tensor_html(name, name, tensor, cells, look) + key(name, tensor);
    }
    // The CSV file of a step has the numbers of the page.
    const bool rounded =
        !step_in(lesson.recipe, name) && shows_rounded(cells, name, tensor, look.digits);
    return tensor_html(
        name + (rounded ? ", given (rounded: its CSV file has all digits)" : ", given"), name,
        tensor, cells, look);
  }

  std::string operator()(const HiddenGivens&) const { return {}; }  // none: it shows all

  static std::string formula_html(const std::string& formula) {
    return fmt::format("<p class=\"formula\">{}</p>\n", formula);
  }

  // The arithmetic of each cell that is asked for.
  std::string key(const std::string& name, const Tensor& tensor) const {
    if (look.kind != SheetKind::key || tensor.values.size() > max_printed_cells) return {};
    constexpr std::size_t most_terms = 9;
    const std::vector<CellUse>& uses = cells.uses.at(name);
    std::string text;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      if (uses[i] != CellUse::asked) continue;
      const CellArithmetic worked =
          arithmetic_of(cells.trace, cell_at(name, tensor, i),
                        {.digits = look.digits, .max_terms = most_terms, .minus = typeset_minus});
      text += formula_html(html_text(worked.cell + " = " + worked.on_one_line()));
    }
    return fmt::format("<div class=\"arithmetic\">\n{}</div>\n", text);
  }
};

// The text stays on one page with the first of the matrices.
std::string step_html(const Exposition& blocks, const WorksheetWriter& writer) {
  const auto matrices = std::ranges::find_if(
      blocks, [](const Block& piece) { return std::holds_alternative<MatrixBlock>(piece); });
  return fmt::format("<section>\n<div class=\"lead\">\n{}</div>\n{}</section>\n",
                     render({blocks.begin(), matrices}, writer),
                     render({matrices, blocks.end()}, writer));
}

}  // namespace

std::string worksheet_page(const Lesson& lesson, const WorksheetCells& cells,
                           const WorksheetStyle& look) {
  const bool is_key = look.kind == SheetKind::key;
  std::string text = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
      "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n"
      "<title>{}{}</title>\n<style>{}</style>\n</head>\n<body>\n",
      html_attribute(lesson.title), is_key ? ": answers" : "", style);
  const WorksheetWriter writer{lesson, cells, look};
  text += fmt::format("<header>\n{}{}</header>\n",
                      render(lesson_opening(lesson, worksheet_opening), writer),
                      is_key ? "<p class=\"who\"><b>Answers</b></p>\n"
                             : "<p class=\"who\"><span>Name</span><span>Date</span></p>\n");
  text += rules(look, cells) + words_html(cells.trace) + map_html(cells.trace);
  for (const Step& step : cells.trace.steps) {
    text += step_html(
        describe_step(lesson, cells.trace, step, {.topics = worksheet_topics, .unshown = true}),
        writer);
  }
  return text + "</body>\n</html>\n";
}

}  // namespace qkv::inline page
