#include "formats/csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formats/csv_label.hpp"
#include "formats/csv_plain.hpp"
#include "formats/csv_table.hpp"
#include "formats/numeral.hpp"
#include "tensor/error.hpp"

namespace qkv {
namespace {

using csv::Field;
using csv::Table;

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

// ---------------------------------------------------------------- labels

DecimalMark mark_of(std::string_view cell) {
  return cell.find(',') == std::string_view::npos ? DecimalMark::point : DecimalMark::comma;
}

bool is_text(const Field& field) {
  return !field.text.empty() && parse_numeral(trimmed(field.text), mark_of(field.text)).fault ==
                                    NumeralFault::not_a_number;
}

bool has_text_in_margin(const Table& table) {
  for (std::size_t j = 1; j < table.columns(); ++j) {
    if (is_text(table.at(0, j))) return true;
  }
  for (std::size_t i = 1; i < table.rows.size(); ++i) {
    if (is_text(table.at(i, 0))) return true;
  }
  return false;
}

bool is_labelled(const Table& table, std::optional<std::array<std::size_t, 2>> expected) {
  if (!table.at(0, 0).text.empty()) return false;
  const bool one_more_each_way =
      expected && table.rows.size() == (*expected)[0] + 1 && table.columns() == (*expected)[1] + 1;
  return one_more_each_way || has_text_in_margin(table);
}

/// No labels at all rather than nothing but empty ones.
std::vector<std::string> unless_all_empty(std::vector<std::string> labels) {
  const bool some = std::any_of(labels.begin(), labels.end(),
                                [](const std::string& label) { return !label.empty(); });
  return some ? labels : std::vector<std::string>{};
}

void read_labels(const Table& table, Written& written) {
  for (std::size_t i = 1; i < table.rows.size(); ++i) {
    written.row_labels.push_back(csv::label_of(table.at(i, 0).text));
  }
  for (std::size_t j = 1; j < table.columns(); ++j) {
    written.column_labels.push_back(csv::label_of(table.at(0, j).text));
  }
  written.row_labels = unless_all_empty(std::move(written.row_labels));
  written.column_labels = unless_all_empty(std::move(written.column_labels));
}

// ---------------------------------------------------------------- numbers

bool starts_like_a_word(std::string_view text) {
  return std::string_view("0123456789+-.,\"").find(text.front()) == std::string_view::npos;
}

/// Reads a table's cells and watches that all of them use the same decimal mark.
class CellReader {
 public:
  CellReader(const Table& table, const std::string& where) : table_(table), where_(where) {}

  Numeral read(std::size_t row, std::size_t column) {
    const Field& field = table_.at(row, column);
    const std::string_view text = trimmed(field.text);
    if (text.empty()) return {.value = std::nan("")};
    const DecimalMark mark = mark_of(text);
    const NumeralResult result = parse_numeral(text, mark);
    if (result.fault != NumeralFault::none) refuse(result.fault, text, row, column);
    if (mark == DecimalMark::comma) comma_seen_ = true;
    if (text.find('.') != std::string_view::npos) point_seen_ = true;
    if (comma_seen_ && point_seen_) refuse_mixed_marks(text, row, column);
    return result.numeral;
  }

 private:
  std::string place(std::size_t row, std::size_t column) const {
    return fmt::format("{}: row {}, column {}: ", where_, table_.rows[row].line, column + 1);
  }

  [[noreturn]] void refuse(NumeralFault fault, std::string_view text, std::size_t row,
                           std::size_t column) const {
    std::string message = place(row, column) + refusal(fault, text);
    if (fault == NumeralFault::not_a_number) message += ", or leave the cell empty";
    if ((row == 0 || column == 0) && starts_like_a_word(text)) {
      message += "; if the first row or column are labels, leave the first cell of the file empty";
    }
    throw InputError(message);
  }

  [[noreturn]] void refuse_mixed_marks(std::string_view text, std::size_t row,
                                       std::size_t column) const {
    throw InputError(
        fmt::format("{}\"{}\" has a decimal {}, a cell before it a {}: write all with "
                    "points, and no mark between thousands",
                    place(row, column), printable(text),
                    mark_of(text) == DecimalMark::comma ? "comma" : "point",
                    mark_of(text) == DecimalMark::comma ? "point" : "comma"));
  }

  const Table& table_;
  const std::string& where_;
  bool comma_seen_ = false;
  bool point_seen_ = false;
};

Written read_table(const Table& table, const std::string& where, bool labelled) {
  const std::size_t margin = labelled ? 1 : 0;
  if (table.rows.size() == margin || table.columns() == margin) {
    throw InputError(where + ": there are labels but no numbers: write a number under each label");
  }
  Written written;
  written.shape = {table.rows.size() - margin, table.columns() - margin};
  written.cells.reserve(count_of(written.shape, where));
  CellReader reader(table, where);
  for (std::size_t i = margin; i < table.rows.size(); ++i) {
    for (std::size_t j = margin; j < table.columns(); ++j) {
      written.cells.push_back(reader.read(i, j));
    }
  }
  if (labelled) read_labels(table, written);
  return written;
}

/// A file of one column with decimal commas has the look of two columns of whole numbers; only the
/// size tells. Nothing where it is not such a file.
std::optional<Written> read_as_decimal_commas(const Table& table,
                                              std::array<std::size_t, 2> expected) {
  if (table.separator != ',' || table.columns() != 2 || expected[1] != 1 ||
      table.rows.size() != expected[0]) {
    return std::nullopt;
  }
  Written written;
  written.shape = {expected[0], 1};
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (table.at(i, 0).text.empty() || table.at(i, 1).text.empty()) return std::nullopt;
    const std::string whole = fmt::format("{},{}", table.at(i, 0).text, table.at(i, 1).text);
    const NumeralResult result = parse_numeral(whole, DecimalMark::comma);
    if (result.fault != NumeralFault::none) return std::nullopt;
    written.cells.push_back(result.numeral);
  }
  return written;
}

/// Whether a plain matrix has a size that makes its margin labels or surplus, or its decimals a
/// column.
bool size_needs_care(const Shape& shape, std::array<std::size_t, 2> expected) {
  const bool has_surplus = shape[0] > expected[0] || shape[1] > expected[1];
  return has_surplus || (shape[1] == 2 && expected[1] == 1);
}

// "sep=;": a line for Excel, which the table does not need.
void skip_separator_line(std::string_view& text) {
  if (!text.starts_with("sep=") && !text.starts_with("SEP=")) return;
  const std::size_t end = text.find('\n');
  if (end != std::string_view::npos && end <= 6) text.remove_prefix(end + 1);
}

}  // namespace

Written read_csv(std::string_view text, const std::string& where,
                 std::optional<std::array<std::size_t, 2>> expected) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  skip_separator_line(text);
  if (auto plain = csv::read_plain_numbers(text, where)) {
    if (!expected || !size_needs_care(plain->shape, *expected)) return *std::move(plain);
  }
  Table table = csv::split(text, where);
  csv::settle_rows(table, expected, where);
  const bool labelled = is_labelled(table, expected);
  if (expected && !labelled) {
    if (auto written = read_as_decimal_commas(table, *expected)) return *std::move(written);
  }
  return read_table(table, where, labelled);
}

}  // namespace qkv
