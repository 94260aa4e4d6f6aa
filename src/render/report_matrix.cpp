#include "render/report_matrix.hpp"

#include <fmt/format.h>

#include <cmath>

#include "render/html.hpp"
#include "render/number.hpp"
#include "tensor/row_kernels.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

constexpr int shades = 8;

// Of a table with more columns than fit on paper, report.css prints the first 7 and the last 3.
constexpr std::size_t most_columns_on_paper = 12;
constexpr std::size_t first_on_paper = 7;
constexpr std::size_t last_on_paper = 3;

// One table: what it shows, as people see it.
struct Table {
  std::string attributes;  // which matrix of the report's data it is
  std::string caption;
  bool caption_repeats = false;            // the heading above says the same
  std::vector<std::size_t> rows, columns;  // the indices shown
  MatrixLabels labels;
  const Tensor* tensor = nullptr;  // as shown
  std::size_t matrix = 0;
  NumberStyle style;
  double largest = 0;
};

// How far from zero, in steps from 0 to `shades`; "p" above zero, "n" below it. Infinities and what
// is no number have a look of their own.
std::string shade(double value, double largest) {
  if (!std::isfinite(value)) return "x";
  const double part = largest == 0 ? 0 : std::abs(value) / largest;
  const auto step = std::lround(part * shades);
  return fmt::format("{}{}", value < 0 && step > 0 ? 'n' : 'p', step);
}

std::string header_row(const Table& table) {
  std::string text = "<thead><tr><td></td>";
  const std::size_t gap = gap_in(table.columns);
  for (std::size_t p = 0; p < table.columns.size(); ++p) {
    if (gap != 0 && p == gap) text += "<td class=\"gap\">…</td>";
    text += fmt::format("<th scope=\"col\">{}</th>",
                        html_label(table.labels.columns[table.columns[p]]));
  }
  return text + "</tr></thead>\n";
}

std::string body_row(const Table& table, std::size_t row) {
  std::string text =
      fmt::format("<tr><th scope=\"row\">{}</th>", html_label(table.labels.rows[row]));
  const std::size_t gap = gap_in(table.columns);
  for (std::size_t p = 0; p < table.columns.size(); ++p) {
    if (gap != 0 && p == gap) text += "<td class=\"gap\">…</td>";
    const double value = table.tensor->at(table.matrix, row, table.columns[p]);
    text += fmt::format("<td class=\"{}\">{}</td>", shade(value, table.largest),
                        cell_text(value, table.style));
  }
  return text + "</tr>\n";
}

std::string gap_row(const Table& table) {
  const std::size_t across = table.columns.size() + (gap_in(table.columns) != 0 ? 1 : 0);
  return fmt::format("<tr class=\"gap\"><th>⋮</th><td class=\"gap\" colspan=\"{}\">⋮</td></tr>\n",
                     across);
}

std::string not_printed(const Table& table) {
  const std::size_t last = table.columns[table.columns.size() - last_on_paper];
  return fmt::format("<p class=\"only-paper\">On paper, columns {} to {} are left out.</p>\n",
                     table.columns[first_on_paper - 1] + 2, last);
}

std::string table_html(const Table& table) {
  const bool wide = table.columns.size() > most_columns_on_paper;
  std::string text = fmt::format(
      "<div class=\"scroll\"><table class=\"heat{}\"{}>\n<caption{}>{}</caption>\n{}<tbody>\n",
      wide ? " wide" : "", table.attributes, table.caption_repeats ? " class=\"same\"" : "",
      html_text(table.caption), header_row(table));
  const std::size_t gap = gap_in(table.rows);
  for (std::size_t p = 0; p < table.rows.size(); ++p) {
    if (gap != 0 && p == gap) text += gap_row(table);
    text += body_row(table, table.rows[p]);
  }
  return text + "</tbody>\n</table>\n" + (wide ? not_printed(table) : "") + "</div>\n";
}

std::string span(std::string_view what, const std::vector<std::size_t>& shown) {
  const std::size_t gap = gap_in(shown);
  if (gap == 0) return {};
  const std::size_t first = shown[gap - 1] + 2;
  const std::size_t last = shown[gap];
  return first == last ? fmt::format("{} {}", what, first)
                       : fmt::format("{}s {} to {}", what, first, last);
}

std::string left_out(const TensorView& view, bool turned, const std::string& whole) {
  std::string text;
  const auto add = [&](const std::string& what) {
    if (!what.empty()) text += (text.empty() ? "" : ", ") + what;
  };
  add(span("row", turned ? view.columns : view.rows));
  add(span("column", turned ? view.rows : view.columns));
  if (const std::size_t gap = gap_in(view.matrices); gap != 0) {
    add(fmt::format("{} to {}", matrix_name(*view.tensor, view.matrices[gap - 1] + 1),
                    matrix_name(*view.tensor, view.matrices[gap] - 1)));
  }
  if (text.empty()) return {};
  return fmt::format("<p class=\"hidden-part\">Not shown: {}. All of it: <code>{}</code></p>\n",
                     html_text(text), html_text(whole));
}

// The ids of a batch: each sentence is a table under its own words.
bool has_sentences(const Tensor& tensor) {
  return tensor.rank() == 2 && tensor.axes[1].labels.size() > tensor.columns();
}

std::string sentences(const TensorView& view, Table table) {
  const Tensor& ids = *view.tensor;
  const std::string attributes = table.attributes;
  std::string text;
  for (const std::size_t b : view.rows) {
    for (std::size_t j = 0; j < ids.columns(); ++j) {
      table.labels.columns[j] = ids.axes.back().label(j, b);
    }
    if (!attributes.empty()) {
      table.attributes = attributes + fmt::format(" data-matrix=\"0\" data-row=\"{}\"", b);
    }
    table.caption = fmt::format("{}, {}", view.name, table.labels.rows[b]);
    table.rows = {b};
    text += table_html(table);
  }
  return text;
}

}  // namespace

std::string heatmaps(const TensorView& view, Convention convention, int digits,
                     const std::string& caption, const std::string& mark,
                     const std::string& whole) {
  const Tensor& tensor = *view.tensor;
  if (tensor.values.empty())
    return fmt::format("<p>{}: it has no numbers</p>\n", html_text(caption));
  const Tensor shown = as_shown(tensor, convention);
  const bool turned = is_turned(tensor, convention);
  Table table{.attributes = mark,
              .caption = caption,
              .rows = turned ? view.columns : view.rows,
              .columns = turned ? view.rows : view.columns,
              .labels = full_labels(tensor, 0, convention),
              .tensor = &shown,
              .matrix = 0,
              .style = style_for(shown.values, digits),
              .largest = largest_magnitude(shown.values)};
  std::string text = "<div class=\"matrices\">\n";
  if (has_sentences(tensor)) {
    text += sentences(view, table);
  } else {
    const std::string attributes = table.attributes;
    const std::string shape = shape_text({shown.rows(), shown.columns()});
    for (const std::size_t m : view.matrices) {
      const std::string name = matrix_name(tensor, m);
      table.matrix = m;
      table.labels = full_labels(tensor, m, convention);
      table.caption_repeats = name.empty();
      table.caption = name.empty() ? caption : fmt::format("{}, {} ({})", caption, name, shape);
      if (!attributes.empty())
        table.attributes = attributes + fmt::format(" data-matrix=\"{}\"", m);
      text += table_html(table);
    }
  }
  return text + "</div>\n" + left_out(view, turned, whole);
}

}  // namespace qkv
