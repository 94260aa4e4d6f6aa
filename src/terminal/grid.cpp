#include "terminal/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "exposition/selection.hpp"
#include "terminal/grid_columns.hpp"
#include "terminal/shade.hpp"
#include "text/width.hpp"

namespace qkv {
namespace {

/// What stands in the gap before and behind a number, one column each.
struct Signs {
  char open, close;
};

constexpr Signs signs_of(Mark mark) {
  constexpr Signs signs[] = {{' ', ' '}, {'*', ' '}, {'(', ')'}, {'[', ']'}};
  return signs[static_cast<std::size_t>(mark)];
}
static_assert(grid_gap ==
              2);  // one column for the sign behind a number, one for that before the next

/// Puts the parts of the grid together line by line.
class Writer {
 public:
  Writer(const GridSheet& sheet, const GridRowLabels& labels, const FittingColumns& fitting)
      : sheet_(sheet), labels_(labels), fitting_(fitting) {}

  std::string text() && {
    header();
    for (std::size_t place = 0; place < labels_.texts.size(); ++place) {
      if (sheet_.shown_rows.starts_after_hidden(place)) hidden_rows();
      row(place);
    }
    return std::move(text_);
  }

 private:
  void header() {
    begin({});
    for (std::size_t place = 0; place < fitting_.columns.size(); ++place) {
      between(place, "…");
      const GridColumn& column = *fitting_.columns[place];
      const std::size_t blanks = column.width - width(column.header);
      text_.append(blanks, ' ').append(emphasised(column.header));
    }
    end();
  }

  void row(std::size_t place) {
    begin(labels_.texts[place]);
    const std::size_t row = sheet_.shown_rows[place];
    Signs before = signs_of(Mark::none);
    for (std::size_t i = 0; i < fitting_.columns.size(); ++i) {
      const Mark mark = mark_at(row, fitting_.selection[i]);
      text_ += before.close;
      if (fitting_.selection.starts_after_hidden(i)) text_ += " … ";
      before = signs_of(mark);
      number(fitting_.columns[i]->cells[place], sheet_.value(row, fitting_.selection[i]), mark);
    }
    text_ += before.close;
    end();
  }

  Mark mark_at(std::size_t row, std::size_t column) const {
    return sheet_.look.mark ? sheet_.look.mark(row, column) : Mark::none;
  }

  /// The number with the sign that opens it, which stands where a blank would be.
  void number(const std::string& cell, double value, Mark mark) {
    // A star is read with its number; brackets, and shades, are as wide as the column.
    const bool is_near = mark == Mark::changed && !sheet_.look.colour;
    const std::size_t blanks = is_near ? std::min(cell.find_first_not_of(' '), cell.size()) : 0;
    text_.append(blanks, ' ') += signs_of(mark).open;
    if (!sheet_.look.colour) {
      text_.append(cell, blanks);
    } else if (mark == Mark::picked) {
      text_ += fmt::format("{}{}{}{}", sgr::bold, sgr::reversed, cell, sgr::reset);
    } else {
      text_ += shaded(cell, value, {sheet_.measure.largest, sheet_.measure.has_negative});
    }
  }

  /// The dots stand where the units of the numbers stand.
  void hidden_rows() {
    begin(labels_.hidden);
    for (std::size_t i = 0; i < fitting_.columns.size(); ++i) {
      between(i, "⋱");
      const GridColumn& column = *fitting_.columns[i];
      text_ += padded_left("⋮", column.width - column.tail);
      text_.append(column.tail, ' ');
    }
    end();
  }

  void begin(std::string_view label) {
    text_.append(grid_indent, ' ').append(emphasised(label));
    text_.append(labels_.width - width(label), ' ');
  }

  void between(std::size_t place, std::string_view mark_of_hidden) {
    text_.append(grid_gap, ' ');
    if (!fitting_.selection.starts_after_hidden(place)) return;
    text_.append(mark_of_hidden).append(grid_gap, ' ');
  }

  void end() {
    text_.erase(text_.find_last_not_of(' ') + 1);
    if (sheet_.look.colour) text_ += sgr::reset;
    text_ += '\n';
  }

  std::string emphasised(std::string_view label) const {
    if (!sheet_.look.colour || label.empty()) return std::string(label);
    return fmt::format("{}{}{}", sgr::bold, label, sgr::reset);
  }

  const GridSheet& sheet_;
  const GridRowLabels& labels_;
  const FittingColumns& fitting_;
  std::string text_;
};

GridSheet sheet_of(std::size_t rows, std::size_t columns, const RowAt& row_at,
                   const GridLabels& labels, const GridLook& look) {
  const Selection shown_rows = look.focus ? rows_around(look.focus->row, rows, look.most_rows)
                                          : selected_rows(rows, look.most_rows);
  GridSheet sheet{.rows = rows,
                  .columns = columns,
                  .row_at = row_at,
                  .labels = labels,
                  .look = look,
                  .measure = look.measure
                                 ? *look.measure
                                 : measured(rows, columns, row_at, shown_rows, look.digits),
                  .shown_rows = shown_rows};
  // Long whole numbers show whole where they fit all together.
  NumberStyle& style = sheet.measure.style;
  if (style.kind == NumberStyle::Kind::grouped && room_beside_all_columns(sheet) == 0) {
    style = {NumberStyle::Kind::scientific, look.digits};
    sheet.columns_made.clear();
  }
  return sheet;
}

}  // namespace

Grid grid(std::size_t rows, std::size_t columns, std::span<const double> values,
          const GridLabels& labels, const GridLook& look) {
  if (values.size() != rows * columns)
    throw std::logic_error(fmt::format("grid: {} values for {}×{}", values.size(), rows, columns));
  const RowAt row_at = [&](std::size_t row) { return values.subspan(row * columns, columns); };
  return grid(rows, columns, row_at, labels, look);
}

Grid grid(std::size_t rows, std::size_t columns, const RowAt& row_at, const GridLabels& labels,
          const GridLook& look) {
  if (rows * columns == 0) return {.text = fmt::format("  (empty: {}×{})\n", rows, columns)};

  const std::optional<GridFocus>& focus = look.focus;
  const GridSheet sheet = sheet_of(rows, columns, row_at, labels, look);
  const GridRowLabels row_labels = row_labels_of(sheet);
  const std::size_t taken = grid_indent + row_labels.width + (look.mark ? 1 : 0);  // the last sign
  const std::size_t room = look.width - std::min(look.width, taken);
  const FittingColumns fitting =
      focus ? columns_around(sheet, focus->column, room) : fitting_columns(sheet, room);
  return {.text = Writer(sheet, row_labels, fitting).text(),
          .rows = sheet.shown_rows,
          .columns = fitting.selection};
}

}  // namespace qkv
