#include "page/report_view.hpp"

#include "tensor/matmul.hpp"
#include "text/number.hpp"

namespace qkv::inline page {
namespace {

constexpr int shades = 8;

// On paper, report.css prints the first 7 and the last 3 columns of a wider table.
constexpr std::size_t max_printed_columns = 12;
constexpr std::size_t first_on_paper = 7;
constexpr std::size_t last_on_paper = 3;

// Tables up to this width have room for long labels.
constexpr std::size_t max_wide_columns = 6;

// One table, in display layout.
struct Table {
  std::string attributes;  // link it to a matrix of the report's data
  std::string caption;
  bool caption_repeats = false;  // the heading above says the same
  Selection rows, columns;
  MatrixLabels labels;
  const Tensor* tensor = nullptr;  // in display layout
  std::size_t matrix = 0;
  NumberStyle style;
  bool is_shaded = true;  // ids have no size that a colour could show
  double largest = 0;
};

// Distance from zero in steps from 0 to `shades`; "p" above, "n" below; infinities and NaN apart.
std::string shade(double value, double largest) {
  if (!std::isfinite(value)) return "x";
  const double part = largest == 0 ? 0 : std::abs(value) / largest;
  const auto step = std::lround(part * shades);
  return {value < 0 && step > 0 ? 'n' : 'p', static_cast<char>('0' + step)};
}

std::string header_row(const Table& table) {
  std::string text = "<thead><tr><td></td>";
  for (std::size_t p = 0; p < table.columns.shown(); ++p) {
    if (table.columns.follows_gap(p)) text += "<td class=\"gap\">…</td>";
    text += html_label(table.labels.columns[table.columns[p]], " scope=\"col\"");
  }
  return text + "</tr></thead>\n";
}

std::string body_row(const Table& table, std::size_t row) {
  std::string text = "<tr>" + html_label(table.labels.rows[row], " scope=\"row\"");
  for (std::size_t p = 0; p < table.columns.shown(); ++p) {
    if (table.columns.follows_gap(p)) text += "<td class=\"gap\">…</td>";
    const double value = table.tensor->at(table.matrix, row, table.columns[p]);
    text += "<td";
    if (table.is_shaded) text.append(" class=\"").append(shade(value, table.largest)) += '"';
    text += ">" + with_minus_signs(cell_text(value, table.style)) + "</td>";
  }
  return text + "</tr>\n";
}

std::string table_html(const Table& table) {
  const bool wide = table.columns.shown() > max_printed_columns;
  std::string text = fmt::format(
      "<div class=\"scroll\"><table class=\"heat{}\"{}>\n<caption{}>{}</caption>\n{}<tbody>\n",
      wide                                        ? " wide"
      : table.columns.shown() <= max_wide_columns ? " roomy"
                                                  : "",
      table.attributes, table.caption_repeats ? " class=\"same\"" : "", html_text(table.caption),
      header_row(table));
  for (std::size_t p = 0; p < table.rows.shown(); ++p) {
    if (table.rows.follows_gap(p)) {
      text +=
          fmt::format("<tr class=\"gap\"><th>⋮</th><td class=\"gap\" colspan=\"{}\">⋮</td></tr>\n",
                      table.columns.shown() + (table.columns.hidden() > 0 ? 1 : 0));
    }
    text += body_row(table, table.rows[p]);
  }
  text += "</tbody>\n</table>\n";
  if (wide) {
    text += fmt::format("<p class=\"only-paper\">On paper, columns {} to {} are left out.</p>\n",
                        table.columns[first_on_paper - 1] + 2,
                        table.columns[table.columns.shown() - last_on_paper]);
  }
  return text + "</div>\n";
}

std::string left_out(const TensorView& view, bool is_transposed, const std::string& whole) {
  std::vector<std::string> parts = {
      hidden_text("row", is_transposed ? view.columns : view.rows, " to "),
      hidden_text("column", is_transposed ? view.rows : view.columns, " to ")};
  std::erase(parts, "");
  if (view.one_head) {
    parts.emplace_back("the other heads");
  } else if (const std::size_t hidden = view.matrices.hidden(); hidden > 0) {
    const std::size_t first = view.matrices.first_hidden() - 1;
    parts.push_back(fmt::format("{} to {}", matrix_name(*view.tensor, first),
                                matrix_name(*view.tensor, first + hidden - 1)));
  }
  if (parts.empty()) return {};
  return fmt::format("<p class=\"hidden-part\">Not shown: {}. All of it: <code>{}</code></p>\n",
                     html_text(fmt::to_string(fmt::join(parts, ", "))), html_text(whole));
}

// The ids of a batch: each sentence is a table under its own tokens.
std::string sentences(const TensorView& view, Table table) {
  const Tensor& ids = *view.tensor;
  const std::string attributes = table.attributes;
  std::string text;
  for (const std::size_t b : view.rows) {
    table.labels.columns = labels_of_sentence(ids, b).columns;
    table.attributes = attributes + fmt::format(" data-matrix=\"0\" data-row=\"{}\"", b);
    table.caption = fmt::format("{}, {}", view.name, table.labels.rows[b]);
    table.rows = contiguous_selection(b, 1, ids.rows());
    text += table_html(table);
  }
  return text;
}

constexpr char apart = '\n';

void add_intermediates(Trace& result, const Trace& trace, const Step& step) {
  std::string before = step.of.empty() ? "" : step.of.front();
  for (Intermediate& part : step.operation->intermediates(trace.call(step))) {
    std::string name = intermediate_name(step.name, part.title);
    result.add(
        Step{{name, part.operation, {std::move(before)}, step.options}, std::move(part.tensor)});
    before = std::move(name);
  }
}

// The largest matrices shown in full: 64 tokens, four heads. Larger ones show an overview.
constexpr std::size_t max_full = 64;
constexpr std::size_t max_cells = 4 * max_full * max_full;
constexpr std::size_t max_full_matrices = 16;
constexpr std::size_t max_rows = 16;
constexpr std::size_t max_columns = 12;
constexpr std::size_t max_matrices = 4;

// The page embeds every number that its arithmetic reads. A small result of large weights shows
// only some of its columns, so that only those columns of the weights are read.
bool reads_little(const Trace& trace, const Step& step) {
  std::size_t count = 0;
  for (const std::string& name : step.of) count += trace.at(name).values.size();
  return count <= 2 * max_cells;
}

// Step outputs computed from text alone, and inputs of a lookup.
bool are_ids(const Trace& trace, std::string_view name) {
  const Step* own = trace.find_step(name);
  if (own && own->operation->max_operands == 0) return true;
  return std::ranges::any_of(trace.steps, [&](const Step& step) {
    return step.operation->takes_ids && step.of.front() == name;
  });
}

// Keeps only the matrices of that head, if there are any.
void choose_head(TensorView& view, std::size_t head) {
  const Tensor& tensor = *view.tensor;
  const auto is_chosen = [&](std::size_t m) { return head_of(tensor, m) == head; };
  Selection chosen{places_where(tensor.matrices(), is_chosen), tensor.matrices()};
  if (chosen.shown() > max_matrices) chosen.indices.resize(max_matrices);
  if (chosen.shown() == 0) return;
  view.one_head = chosen.hidden() > 0;
  view.matrices = std::move(chosen);
}

}  // namespace

std::string heatmaps(const TensorView& view, TokenLayout token_layout, int digits,
                     const std::string& caption, const std::string& mark,
                     const std::string& whole) {
  const Tensor& tensor = *view.tensor;
  if (tensor.values.empty())
    return fmt::format("<p>{}: it has no numbers</p>\n", html_text(caption));
  const Tensor shown = as_shown(tensor, token_layout);
  const bool is_transposed = is_shown_transposed(tensor, token_layout);
  Table table{.attributes = mark,
              .caption = caption,
              .rows = is_transposed ? view.columns : view.rows,
              .columns = is_transposed ? view.rows : view.columns,
              .labels = full_labels(tensor, 0, token_layout),
              .tensor = &shown,
              .style = style_for(shown.values, digits),
              .is_shaded = !view.is_ids,
              .largest = largest_magnitude(shown.values)};
  std::string text = "<div class=\"matrices\">\n";
  if (words_differ_by_row(tensor)) {
    text += sentences(view, table);
  } else {
    const std::string shape = shape_text({shown.rows(), shown.columns()});
    for (const std::size_t m : view.matrices) {
      const std::string name = matrix_name(tensor, m);
      table.matrix = m;
      table.labels = full_labels(tensor, m, token_layout);
      table.caption_repeats = name.empty();
      table.caption = name.empty() ? caption : fmt::format("{}, {} ({})", caption, name, shape);
      table.attributes = mark + fmt::format(" data-matrix=\"{}\"", m);
      text += table_html(table);
    }
  }
  return text + "</div>\n" + left_out(view, is_transposed, whole);
}

std::string intermediate_name(std::string_view step, std::string_view title) {
  return std::string(step).append(1, apart).append(title);
}

std::string_view display_name(std::string_view name) {
  return name.substr(name.find(apart) + 1);  // if npos: all of it
}

Trace with_intermediates(const Lesson& lesson, const Trace& trace) {
  Trace result;
  result.token_layout = trace.token_layout;
  result.environment = trace.environment;
  result.length = trace.length;
  for (const Given& given : trace.givens) result.add(given);
  for (const Step& step : trace.steps) {
    if (step.operation->intermediates && lesson.texts[step.number - 1].show)
      add_intermediates(result, trace, step);
    result.add(step);
  }
  return result;
}

std::vector<CellIndex> TensorView::cells() const {
  std::vector<CellIndex> cells;
  cells.reserve(matrices.shown() * rows.shown() * columns.shown());
  for (const std::size_t m : matrices) {
    for (const std::size_t i : rows) {
      for (const std::size_t j : columns) cells.push_back({m, i, j});
    }
  }
  return cells;
}

TensorView view_of(std::string name, const Tensor& tensor, const Step* step, bool may_be_whole) {
  const bool whole = may_be_whole && tensor.rows() <= max_full && tensor.columns() <= max_full &&
                     tensor.values.size() <= max_cells;
  const std::size_t matrices = whole ? max_full_matrices : max_matrices;
  const std::size_t rows = whole ? max_full : max_rows;
  const std::size_t columns = whole ? max_full : max_columns;
  return {.name = std::move(name),
          .tensor = &tensor,
          .step = step,
          .matrices = first_and_last(std::min(tensor.matrices(), matrices), tensor.matrices()),
          .rows = selected(std::min(tensor.rows(), rows), tensor.rows()),
          .columns = selected(std::min(tensor.columns(), columns), tensor.columns())};
}

std::vector<TensorView> views_of(const Trace& trace, std::optional<std::size_t> head) {
  std::vector<TensorView> views;
  for (const Step& step : trace.steps) {
    for (const Given* given : new_givens_of(trace, step)) {
      views.push_back(view_of(given->name, given->tensor));
    }
    views.push_back(view_of(step.name, step.output, &step, reads_little(trace, step)));
  }
  for (TensorView& view : views) {
    view.is_ids = are_ids(trace, view.name);
    if (head) choose_head(view, *head);
  }
  return views;
}

}  // namespace qkv::inline page
