#include "page/report_matrix.hpp"

#include <fmt/format.h>

#include <cmath>

#include "page/html.hpp"
#include "tensor/row_kernels.hpp"
#include "text/number.hpp"
#include "text/typeset.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

constexpr int shades = 8;

// Of a table with more columns than fit on paper, report.css prints the first 7 and the last 3.
constexpr std::size_t most_columns_on_paper = 12;
constexpr std::size_t first_on_paper = 7;
constexpr std::size_t last_on_paper = 3;

// Beside so few columns there is room for long labels.
constexpr std::size_t most_columns_with_room = 6;

// One table: what it shows, as people see it.
struct Table {
  std::string attributes;  // which matrix of the report's data it is
  std::string caption;
  bool caption_repeats = false;  // the heading above says the same
  Selection rows, columns;
  MatrixLabels labels;
  const Tensor* tensor = nullptr;  // as shown
  std::size_t matrix = 0;
  NumberStyle style;
  bool is_shaded = true;  // ids have no size that a colour could tell
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
  for (std::size_t p = 0; p < table.columns.shown(); ++p) {
    if (table.columns.starts_after_hidden(p)) text += "<td class=\"gap\">…</td>";
    text += html_label(table.labels.columns[table.columns[p]], " scope=\"col\"");
  }
  return text + "</tr></thead>\n";
}

std::string body_row(const Table& table, std::size_t row) {
  std::string text = "<tr>" + html_label(table.labels.rows[row], " scope=\"row\"");
  for (std::size_t p = 0; p < table.columns.shown(); ++p) {
    if (table.columns.starts_after_hidden(p)) text += "<td class=\"gap\">…</td>";
    const double value = table.tensor->at(table.matrix, row, table.columns[p]);
    const std::string look =
        table.is_shaded ? fmt::format(" class=\"{}\"", shade(value, table.largest)) : "";
    text += fmt::format("<td{}>{}</td>", look, with_minus_signs(cell_text(value, table.style)));
  }
  return text + "</tr>\n";
}

std::string gap_row(const Table& table) {
  const std::size_t across = table.columns.shown() + (table.columns.hidden() > 0 ? 1 : 0);
  return fmt::format("<tr class=\"gap\"><th>⋮</th><td class=\"gap\" colspan=\"{}\">⋮</td></tr>\n",
                     across);
}

std::string not_printed(const Table& table) {
  const std::size_t last = table.columns[table.columns.shown() - last_on_paper];
  return fmt::format("<p class=\"only-paper\">On paper, columns {} to {} are left out.</p>\n",
                     table.columns[first_on_paper - 1] + 2, last);
}

std::string table_html(const Table& table) {
  const bool wide = table.columns.shown() > most_columns_on_paper;
  std::string text = fmt::format(
      "<div class=\"scroll\"><table class=\"heat{}\"{}>\n<caption{}>{}</caption>\n{}<tbody>\n",
      wide                                              ? " wide"
      : table.columns.shown() <= most_columns_with_room ? " roomy"
                                                        : "",
      table.attributes, table.caption_repeats ? " class=\"same\"" : "", html_text(table.caption),
      header_row(table));
  for (std::size_t p = 0; p < table.rows.shown(); ++p) {
    if (table.rows.starts_after_hidden(p)) text += gap_row(table);
    text += body_row(table, table.rows[p]);
  }
  return text + "</tbody>\n</table>\n" + (wide ? not_printed(table) : "") + "</div>\n";
}

std::string left_out(const TensorView& view, bool turned, const std::string& whole) {
  std::string text;
  const auto add = [&](const std::string& what) {
    if (!what.empty()) text += (text.empty() ? "" : ", ") + what;
  };
  add(hidden_text("row", turned ? view.columns : view.rows, " to "));
  add(hidden_text("column", turned ? view.rows : view.columns, " to "));
  if (view.one_head) {
    add("the other heads");
  } else if (const std::size_t hidden = view.matrices.hidden(); hidden > 0) {
    const std::size_t first = view.matrices.first_hidden() - 1;
    add(fmt::format("{} to {}", matrix_name(*view.tensor, first),
                    matrix_name(*view.tensor, first + hidden - 1)));
  }
  if (text.empty()) return {};
  return fmt::format("<p class=\"hidden-part\">Not shown: {}. All of it: <code>{}</code></p>\n",
                     html_text(text), html_text(whole));
}

// The ids of a batch: each sentence is a table under its own words.
std::string sentences(const TensorView& view, Table table) {
  const Tensor& ids = *view.tensor;
  const std::string attributes = table.attributes;
  std::string text;
  for (const std::size_t b : view.rows) {
    table.labels.columns = labels_of_sentence(ids, b).columns;
    if (!attributes.empty()) {
      table.attributes = attributes + fmt::format(" data-matrix=\"0\" data-row=\"{}\"", b);
    }
    table.caption = fmt::format("{}, {}", view.name, table.labels.rows[b]);
    table.rows = stretch(b, 1, ids.rows());
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
              .is_shaded = !view.is_ids,
              .largest = largest_magnitude(shown.values)};
  std::string text = "<div class=\"matrices\">\n";
  if (words_differ_by_row(tensor)) {
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
