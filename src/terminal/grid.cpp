#include "terminal/grid.hpp"

#include "tensor/matmul.hpp"
#include "text/unicode.hpp"

namespace qkv::inline terminal {
namespace {

// Allows breaks after the sign in a product of cells that is longer than a line.
std::string with_breaks(const std::string& held, std::size_t columns) {
  const auto words = mapped(split(held, ' '), [&](std::string_view word) {
    return width(word) > columns ? replace_all(word, "·", "· ") : std::string(word);
  });
  return fmt::to_string(fmt::join(words, " "));
}

// The line without colour codes.
std::string strip_colour(std::string_view line) {
  std::string text;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t escape = std::min(line.find('\x1b', at), line.size());
    text += line.substr(at, escape - at);
    at = escape < line.size() ? end_of_escape(line, escape) : escape;
  }
  return text;
}

/// Blanks before each line, and before each column.
inline constexpr std::size_t grid_indent = 2;

inline constexpr std::size_t grid_gap = 2;

/// A formatted column: its header, and its cells padded so that their points align.
struct GridColumn {
  std::string header;
  std::vector<std::string> cells;
  std::size_t width = 0;
  std::size_t tail = 0;  ///< display width from the decimal point on
};

struct GridLayout {
  std::size_t columns;
  const RowAt& row_at;
  const MatrixLabels& labels;
  const GridStyle& look;
  NumberFormat measure;
  Selection shown_rows;
  mutable std::map<std::size_t, GridColumn> column_cache = {};

  double value(std::size_t row, std::size_t column) const { return row_at(row)[column]; }
};

struct GridRowLabels {
  std::vector<std::string> texts;
  std::string hidden = "⋮";
  std::size_t width = 0;
};

constexpr std::size_t max_row_label_width = 14;
constexpr std::size_t max_column_label_width = 10;
constexpr std::size_t narrowest_row_label = 3;  // "th…" still says which word it is

bool has_label(const std::vector<std::string>& labels, std::size_t index) {
  return index < labels.size() && !labels[index].empty();
}

/// "-inf" and "nan" end where numbers end: at the point they would make a masked matrix wider.
bool has_unit_digits(std::string_view cell) {
  return !cell.ends_with("inf") && !cell.ends_with("nan");
}

std::size_t tail_of(std::string_view cell) {
  return cell.size() - std::min(cell.find_first_of(".e"), cell.size());
}

GridColumn make_column(const GridLayout& sheet, std::size_t index) {
  GridColumn column;
  const NumberStyle& style = sheet.measure.style;
  if (style.kind == NumberStyle::Kind::fixed && style.digits > 0)
    column.tail = static_cast<std::size_t>(style.digits) + 1;
  std::size_t head = 0, widest = 0;
  for (std::size_t place = 0; place < sheet.shown_rows.shown(); ++place) {
    const double value = sheet.value(sheet.shown_rows[place], index);
    const std::string& cell = column.cells.emplace_back(cell_text(value, sheet.measure.style));
    widest = std::max(widest, cell.size());
    if (!has_unit_digits(cell)) continue;
    head = std::max(head, cell.size() - tail_of(cell));
    column.tail = std::max(column.tail, tail_of(cell));
  }
  if (head == 0) column.tail = 0;  // no number in it
  const std::size_t number_width = std::max(head + column.tail, widest);
  column.header =
      fitted_label(sheet.labels.columns, index, std::max(number_width, max_column_label_width));
  column.width = std::max(number_width, width(column.header));
  for (std::string& cell : column.cells) {
    if (has_unit_digits(cell)) cell.append(column.tail - tail_of(cell), ' ');
    cell.insert(0, column.width - cell.size(), ' ');
  }
  return column;
}

/// Cached: several widths are needed before it is known which columns fit.
const GridColumn& column_of(const GridLayout& sheet, std::size_t index) {
  const auto found = sheet.column_cache.find(index);
  if (found != sheet.column_cache.end()) return found->second;
  return sheet.column_cache.emplace(index, make_column(sheet, index)).first->second;
}

std::size_t room_for_hidden(std::size_t shown, std::size_t count) {
  return shown < count ? grid_gap + 1 : 0;
}

/// The width of a line that remains beside all columns.
std::size_t spare_width(const GridLayout& sheet) {
  std::size_t used = grid_indent;
  for (std::size_t j = 0; j < sheet.columns && used < sheet.look.width; ++j) {
    used += grid_gap + column_of(sheet, j).width;
  }
  return sheet.look.width - std::min(sheet.look.width, used);
}

std::size_t room_for_row_labels(const GridLayout& sheet) {
  if (const std::size_t beside = spare_width(sheet); beside > max_row_label_width) return beside;
  std::size_t used =
      grid_indent + room_for_hidden(2, sheet.columns) + grid_gap + column_of(sheet, 0).width;
  if (sheet.columns > 1) used += grid_gap + column_of(sheet, sheet.columns - 1).width;
  const std::size_t room = sheet.look.width - std::min(sheet.look.width, used);
  return std::clamp(room, narrowest_row_label, max_row_label_width);
}

/// The first and last column, and as many as fit from both ends.
Selection fitting_columns(const GridLayout& sheet, std::size_t room) {
  std::size_t shown = 0;
  for (std::size_t used = 0; shown < sheet.columns; ++shown) {
    const std::size_t next = shown % 2 == 0 ? shown / 2 : sheet.columns - 1 - shown / 2;
    used += grid_gap + column_of(sheet, next).width;
    if (shown >= 2 && used + room_for_hidden(shown + 1, sheet.columns) > room) break;
  }
  return selected(shown, sheet.columns);
}

/// As many columns on both sides of the focus as fit.
Selection columns_around(const GridLayout& sheet, std::size_t focus, std::size_t room) {
  std::size_t first = focus, last = focus;
  std::size_t used = grid_gap + column_of(sheet, focus).width;
  const auto fits = [&](std::size_t index) {
    const std::size_t needed = grid_gap + column_of(sheet, index).width;
    if (used + needed > room) return false;
    used += needed;
    return true;
  };
  for (bool more_left = true, more_right = true; more_left || more_right;) {
    more_right = more_right && last + 1 < sheet.columns && fits(last + 1);
    if (more_right) ++last;
    more_left = more_left && first > 0 && fits(first - 1);
    if (more_left) --first;
  }
  return contiguous_selection(first, last + 1 - first, sheet.columns);
}

/// Row labels: words left-aligned, indices right-aligned. If not every column fits beside them,
/// they are shortened, down to a few letters, so that the first and last column fit.
GridRowLabels row_labels_of(const GridLayout& sheet) {
  const std::size_t room = room_for_row_labels(sheet);
  GridRowLabels labels;
  labels.texts = mapped(sheet.shown_rows, [&](std::size_t row) {
    return fitted_label(sheet.labels.rows, row, room);
  });
  labels.width = max_width(labels.texts);
  for (std::size_t place = 0; place < labels.texts.size(); ++place) {
    std::string& text = labels.texts[place];
    text = has_label(sheet.labels.rows, sheet.shown_rows[place]) ? padded_right(text, labels.width)
                                                                 : padded_left(text, labels.width);
  }
  const bool is_index = !has_label(sheet.labels.rows, sheet.shown_rows[0]);
  if (is_index) labels.hidden = padded_left(labels.hidden, labels.width);
  return labels;
}

/// The signs in the gap before and after a number, one column each.
struct Signs {
  char open, close;
};

constexpr Signs signs_of(Highlight highlight) {
  constexpr Signs signs[] = {{' ', ' '}, {'*', ' '}, {'(', ')'}, {'[', ']'}};
  return signs[static_cast<std::size_t>(highlight)];
}
static_assert(grid_gap == 2);  // the sign after a number, and that before the next one

struct Writer {
  const GridLayout& sheet;
  const GridRowLabels& labels;
  const Selection& columns;
  std::string written = {};

  std::string text() && {
    header();
    for (std::size_t place = 0; place < labels.texts.size(); ++place) {
      if (sheet.shown_rows.follows_gap(place)) hidden_rows();
      row(place);
    }
    return std::move(written);
  }

  void header() {
    line({}, "…", [&](const GridColumn& column) {
      const std::size_t blanks = column.width - width(column.header);
      written.append(blanks, ' ').append(emphasised(column.header));
    });
  }

  void row(std::size_t place) {
    begin(labels.texts[place]);
    const std::size_t row = sheet.shown_rows[place];
    Signs before = signs_of(Highlight::none);
    for (std::size_t i = 0; i < columns.shown(); ++i) {
      const Highlight highlight =
          sheet.look.highlight ? sheet.look.highlight(row, columns[i]) : Highlight::none;
      written += before.close;
      if (columns.follows_gap(i)) written += " … ";
      before = signs_of(highlight);
      const std::string& cell = column_of(sheet, columns[i]).cells[place];
      number(cell, sheet.value(row, columns[i]), highlight);
    }
    written += before.close;
    end();
  }

  /// Writes a number with its opening sign, which replaces a blank.
  void number(const std::string& cell, double value, Highlight highlight) {
    // A star is next to its number; brackets and shades are as wide as the column.
    const bool is_near = highlight == Highlight::changed && !sheet.look.colour;
    const std::size_t blanks = is_near ? std::min(cell.find_first_not_of(' '), cell.size()) : 0;
    written.append(blanks, ' ') += signs_of(highlight).open;
    if (!sheet.look.colour) {
      written.append(cell, blanks);
    } else if (highlight == Highlight::picked) {
      written += fmt::format("{}{}{}{}", sgr::bold, sgr::reversed, cell, sgr::reset);
    } else {
      written += shaded(cell, value, sheet.measure);
    }
  }

  /// The ⋮ is aligned with the units of the numbers.
  void hidden_rows() {
    line(labels.hidden, "⋱", [&](const GridColumn& column) {
      written += padded_left("⋮", column.width - column.tail);
      written.append(column.tail, ' ');
    });
  }

  /// Writes a line without numbers; `write` adds the text of a column.
  template <class Write>
  void line(std::string_view label, std::string_view gap_sign, const Write& write) {
    begin(label);
    for (std::size_t place = 0; place < columns.shown(); ++place) {
      written.append(grid_gap, ' ');
      if (columns.follows_gap(place)) written.append(gap_sign).append(grid_gap, ' ');
      write(column_of(sheet, columns[place]));
    }
    end();
  }

  void begin(std::string_view label) {
    written.append(grid_indent, ' ').append(emphasised(label));
    written.append(labels.width - width(label), ' ');
  }

  void end() {
    written.erase(written.find_last_not_of(' ') + 1);
    if (sheet.look.colour) written += sgr::reset;
    written += '\n';
  }

  std::string emphasised(std::string_view label) const {
    if (!sheet.look.colour || label.empty()) return std::string(label);
    return fmt::format("{}{}{}", sgr::bold, label, sgr::reset);
  }
};

/// The number format of a matrix of which the rows `shown` are displayed.
NumberFormat format_of_rows(std::size_t rows, std::size_t columns, const RowAt& row_at,
                            const Selection& shown, int digits) {
  const Selection measured = rows * columns <= small_tensor_limit ? selected(rows, rows) : shown;
  std::vector<double> numbers;
  numbers.reserve(measured.shown() * columns);
  for (const std::size_t place : measured) {
    const std::span<const double> row = row_at(place);
    numbers.insert(numbers.end(), row.begin(), row.end());
  }
  return number_format_of(numbers, digits);
}

// Selects rows that fill at most `most` lines, with the line of ⋮; always the first and last row.
Selection selected_rows(std::size_t rows, std::size_t most) {
  if (rows <= std::max<std::size_t>(most, 2)) return selected(rows, rows);
  return selected(std::max<std::size_t>(most, 3) - 1, rows);
}

// Selects at most `most` rows around `focus`, as centred as the ends allow.
Selection rows_around(std::size_t focus, std::size_t rows, std::size_t most) {
  const std::size_t shown = std::clamp<std::size_t>(most, 1, rows);
  const std::size_t before = std::min(focus, shown / 2);
  return contiguous_selection(std::min(focus - before, rows - shown), shown, rows);
}

GridLayout sheet_of(std::size_t rows, std::size_t columns, const RowAt& row_at,
                    const MatrixLabels& labels, const GridStyle& look) {
  const Selection shown_rows = look.focus ? rows_around(look.focus->row, rows, look.max_rows)
                                          : selected_rows(rows, look.max_rows);
  GridLayout sheet{.columns = columns,
                   .row_at = row_at,
                   .labels = labels,
                   .look = look,
                   .measure = look.measure
                                  ? *look.measure
                                  : format_of_rows(rows, columns, row_at, shown_rows, look.digits),
                   .shown_rows = shown_rows};
  // Long integers show all digits if they all fit.
  NumberStyle& style = sheet.measure.style;
  if (style.kind == NumberStyle::Kind::grouped && spare_width(sheet) == 0) {
    style = {NumberStyle::Kind::scientific, look.digits};
    sheet.column_cache.clear();
  }
  return sheet;
}

}  // namespace

std::vector<std::string> wrapped_arithmetic(std::string_view line, std::size_t columns) {
  // Lines don't end inside a cell's name, short brackets or "508 more …".
  constexpr std::size_t short_brackets = 24;
  std::string held;
  int depth = 0;
  std::size_t closing = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    const std::size_t next = c == '(' ? line.find_first_of("()", i + 1) : line.npos;
    if (next <= i + short_brackets && line[next] == ')') closing = next;
    const bool is_held = c == ' ' && (depth > 0 || i < closing);
    held += is_held ? std::string(no_break_space) : std::string(1, c);
  }
  held = replace_all(held, " more …", "\u00a0more\u00a0…");
  std::vector<std::string> lines = wrapped(with_breaks(held, columns), columns);
  for (std::string& piece : lines) piece = with_plain_blanks(piece);
  return lines;
}

std::vector<std::string> lines_of(std::string_view text) {
  if (text.empty()) return {};
  if (text.ends_with('\n')) text.remove_suffix(1);
  const std::vector<std::string_view> lines = split(text, '\n');
  return {lines.begin(), lines.end()};
}

std::string indented_lines(const std::vector<std::string>& lines, std::size_t blanks) {
  std::string text;
  for (const std::string& line : lines) {
    text.append(line.empty() ? 0 : blanks, ' ').append(line) += '\n';
  }
  return text;
}

std::string hanging_lines(std::string head, const std::vector<std::string>& lines,
                          std::size_t blanks) {
  std::string text;
  for (const std::string& line : lines) {
    text.append(head).append(line) += '\n';
    head.assign(blanks, ' ');
  }
  return text;
}

std::size_t display_width(std::string_view line) { return width(strip_colour(line)); }

std::size_t max_width(const std::vector<std::string>& lines) {
  std::size_t widest = 0;
  for (const std::string& line : lines) widest = std::max(widest, display_width(line));
  return widest;
}

std::vector<std::string> side_by_side(const std::vector<std::vector<std::string>>& blocks,
                                      std::size_t gap, std::size_t columns) {
  std::vector<std::string> lines;
  std::size_t top = 0, used = 0;  // the current row's first line and width
  for (const std::vector<std::string>& block : blocks) {
    const std::size_t widest = max_width(block);
    if (used > 0 && used + gap + widest > columns) {
      lines.emplace_back();
      top = lines.size();
      used = 0;
    }
    const std::size_t left = used + (used > 0 ? gap : 0);
    lines.resize(std::max(lines.size(), top + block.size()));
    for (std::size_t i = 0; i < block.size(); ++i) {
      std::string& line = lines[top + i];
      line.append(left - display_width(line), ' ').append(block[i]);
      line.erase(line.find_last_not_of(' ') + 1);
    }
    used = left + widest;
  }
  return lines;
}

std::size_t end_of_escape(std::string_view line, std::size_t at) {
  const std::size_t end = line.find('m', at);
  return end == std::string_view::npos ? line.size() : end + 1;
}

NumberFormat number_format_of(std::span<const double> values, int digits) {
  const auto is_negative = [](double value) { return value < 0 && std::isfinite(value); };
  const double largest = largest_magnitude(values);
  return {.style = style_for(values, digits, largest),
          .largest = largest,
          .has_negative = std::any_of(values.begin(), values.end(), is_negative)};
}

std::string fitted_label(const std::vector<std::string>& labels, std::size_t index,
                         std::size_t columns) {
  return has_label(labels, index) ? shortened(sanitise_label(labels[index]), columns)
                                  : std::to_string(index + 1);
}

Grid grid(std::size_t rows, std::size_t columns, std::span<const double> values,
          const MatrixLabels& labels, const GridStyle& look) {
  if (values.size() != rows * columns)
    throw std::logic_error(fmt::format("grid: {} values for {}×{}", values.size(), rows, columns));
  const RowAt row_at = [&](std::size_t row) { return values.subspan(row * columns, columns); };
  return grid(rows, columns, row_at, labels, look);
}

Grid grid(std::size_t rows, std::size_t columns, const RowAt& row_at, const MatrixLabels& labels,
          const GridStyle& look) {
  if (rows * columns == 0) return {.text = fmt::format("  (empty: {}×{})\n", rows, columns)};

  const GridLayout sheet = sheet_of(rows, columns, row_at, labels, look);
  const GridRowLabels row_labels = row_labels_of(sheet);
  const std::size_t taken =
      grid_indent + row_labels.width + (look.highlight ? 1 : 0);  // the last sign
  const std::size_t room = look.width - std::min(look.width, taken);
  const Selection fitting =
      look.focus ? columns_around(sheet, look.focus->column, room) : fitting_columns(sheet, room);
  return {.text = Writer{sheet, row_labels, fitting}.text(),
          .rows = sheet.shown_rows,
          .columns = fitting};
}

}  // namespace qkv::inline terminal
