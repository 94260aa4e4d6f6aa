#include "terminal/grid_columns.hpp"

#include <algorithm>
#include <iterator>

#include "text/escape.hpp"
#include "text/width.hpp"

namespace qkv {
namespace {

constexpr std::size_t widest_row_label = 14;
constexpr std::size_t widest_column_label = 10;
constexpr std::size_t narrowest_row_label = 3;  // "th…" still says which word it is

/// One label, or the index that stands for it.
struct Label {
  std::string text;
  bool is_index;
};

Label label_at(const std::vector<std::string>& labels, std::size_t index) {
  if (index < labels.size() && !labels[index].empty()) return {visible_label(labels[index]), false};
  return {std::to_string(index + 1), true};
}

/// An index is never cut: "1…" would be another row.
Label fitted(const Label& label, std::size_t columns) {
  return label.is_index ? label : Label{shortened(label.text, columns), false};
}

/// "-inf" and "nan" have no decimal point to align. They end where the numbers end: with their last
/// letter over the point, a masked matrix would be half as wide again.
bool has_units(std::string_view cell) { return !cell.ends_with("inf") && !cell.ends_with("nan"); }

std::size_t tail_of(std::string_view cell) {
  return cell.size() - std::min(cell.find_first_of(".e"), cell.size());
}

std::size_t least_tail(const NumberStyle& style) {
  const bool has_point = style.kind == NumberStyle::Kind::fixed && style.digits > 0;
  return has_point ? static_cast<std::size_t>(style.digits) + 1 : 0;
}

GridColumn make_column(const GridSheet& sheet, std::size_t index) {
  GridColumn column;
  column.tail = least_tail(sheet.measure.style);
  std::size_t head = 0, widest = 0;
  for (std::size_t place = 0; place < sheet.shown_rows.shown(); ++place) {
    const double value = sheet.value(sheet.shown_rows[place], index);
    const std::string& cell = column.cells.emplace_back(cell_text(value, sheet.measure.style));
    widest = std::max(widest, cell.size());
    if (!has_units(cell)) continue;
    head = std::max(head, cell.size() - tail_of(cell));
    column.tail = std::max(column.tail, tail_of(cell));
  }
  if (head == 0) column.tail = 0;  // not one number in it
  const std::size_t number_width = std::max(head + column.tail, widest);
  column.header =
      fitted(label_at(sheet.labels.columns, index), std::max(number_width, widest_column_label))
          .text;
  column.width = std::max(number_width, width(column.header));
  for (std::string& cell : column.cells) {
    if (has_units(cell)) cell.append(column.tail - tail_of(cell), ' ');
    cell.insert(0, column.width - cell.size(), ' ');
  }
  return column;
}

/// Each is made once: several are asked for their width before it is known which ones fit.
const GridColumn& column_of(const GridSheet& sheet, std::size_t index) {
  const auto found = sheet.columns_made.find(index);
  if (found != sheet.columns_made.end()) return found->second;
  return sheet.columns_made.emplace(index, make_column(sheet, index)).first->second;
}

std::size_t room_for_hidden(std::size_t shown, std::size_t count) {
  return shown < count ? grid_gap + 1 : 0;
}

std::size_t room_for_row_labels(const GridSheet& sheet) {
  if (const std::size_t beside = room_beside_all_columns(sheet); beside > widest_row_label) {
    return beside;
  }
  std::size_t used =
      grid_indent + room_for_hidden(2, sheet.columns) + grid_gap + column_of(sheet, 0).width;
  if (sheet.columns > 1) used += grid_gap + column_of(sheet, sheet.columns - 1).width;
  const std::size_t room = sheet.look.width - std::min(sheet.look.width, used);
  return std::clamp(room, narrowest_row_label, widest_row_label);
}

}  // namespace

std::size_t room_beside_all_columns(const GridSheet& sheet) {
  std::size_t used = grid_indent;
  for (std::size_t j = 0; j < sheet.columns && used < sheet.look.width; ++j) {
    used += grid_gap + column_of(sheet, j).width;
  }
  return sheet.look.width - std::min(sheet.look.width, used);
}

FittingColumns fitting_columns(const GridSheet& sheet, std::size_t room) {
  std::vector<const GridColumn*> front, back;
  std::size_t used = 0;
  for (std::size_t shown = 0; shown < sheet.columns; ++shown) {
    const bool from_front = shown % 2 == 0;
    const GridColumn& next =
        column_of(sheet, from_front ? shown / 2 : sheet.columns - 1 - shown / 2);
    used += grid_gap + next.width;
    if (shown >= 2 && used + room_for_hidden(shown + 1, sheet.columns) > room) break;
    (from_front ? front : back).push_back(&next);
  }
  const Selection selection = selected(front.size() + back.size(), sheet.columns);
  std::copy(back.rbegin(), back.rend(), std::back_inserter(front));
  return {selection, std::move(front)};
}

FittingColumns columns_around(const GridSheet& sheet, std::size_t focus, std::size_t room) {
  std::vector<const GridColumn*> left, right;
  right.push_back(&column_of(sheet, focus));
  std::size_t used = grid_gap + right.back()->width;
  bool more_left = true, more_right = true;
  const auto take = [&](std::vector<const GridColumn*>& side, std::size_t index, bool& more) {
    const GridColumn& next = column_of(sheet, index);
    more = used + grid_gap + next.width <= room;
    if (!more) return;
    used += grid_gap + next.width;
    side.push_back(&next);
  };
  while (more_left || more_right) {
    more_right = more_right && focus + right.size() < sheet.columns;
    if (more_right) take(right, focus + right.size(), more_right);
    more_left = more_left && left.size() < focus;
    if (more_left) take(left, focus - 1 - left.size(), more_left);
  }
  FittingColumns fitting{stretch(focus - left.size(), left.size() + right.size(), sheet.columns),
                         {}};
  std::copy(left.rbegin(), left.rend(), std::back_inserter(fitting.columns));
  std::copy(right.begin(), right.end(), std::back_inserter(fitting.columns));
  return fitting;
}

GridRowLabels row_labels_of(const GridSheet& sheet) {
  const std::size_t room = room_for_row_labels(sheet);
  GridRowLabels labels;
  std::vector<Label> fitted_labels;
  for (std::size_t place = 0; place < sheet.shown_rows.shown(); ++place) {
    fitted_labels.push_back(fitted(label_at(sheet.labels.rows, sheet.shown_rows[place]), room));
    labels.width = std::max(labels.width, width(fitted_labels.back().text));
  }
  for (const Label& label : fitted_labels) {
    labels.texts.push_back(label.is_index ? padded_left(label.text, labels.width)
                                          : padded_right(label.text, labels.width));
  }
  if (fitted_labels.front().is_index) labels.hidden = padded_left(labels.hidden, labels.width);
  return labels;
}

}  // namespace qkv
