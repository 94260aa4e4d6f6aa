#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "formats/csv.hpp"
#include "formats/csv_label.hpp"
#include "formats/digits.hpp"

namespace qkv {
namespace {

/// How many characters a cell and the mark behind it take at most.
std::size_t widest_cell(const CsvOptions& options) {
  if (!options.digits) return longest_shortest + 1;
  return longest_fixed(*options.digits) + 1;
}

void refuse_misfits(const CsvMatrix& matrix, const CsvOptions& options) {
  const auto fits = [](const auto& labels, std::size_t size) {
    return labels.empty() || labels.size() == size;
  };
  if (matrix.values.size() != matrix.rows * matrix.columns ||
      !fits(matrix.row_labels, matrix.rows) || !fits(matrix.column_labels, matrix.columns)) {
    throw std::logic_error("to_csv: values or labels do not fit the size");
  }
  if (options.digits && *options.digits < 0) throw std::logic_error("to_csv: digits below 0");
}

void append_column_labels(std::string& text, const CsvMatrix& matrix) {
  for (std::size_t j = 0; j < matrix.columns; ++j) {
    text += ',';
    if (!matrix.column_labels.empty()) text += csv::label_cell(matrix.column_labels[j]);
  }
  text += '\n';
}

/// Appends one row's cells. `room` is scratch space that holds at least the widest cell; it goes
/// into the text whenever it is too full for one more.
void append_cells(std::string& text, std::span<const double> cells, const CsvOptions& options,
                  std::span<char> room) {
  char* const start = room.data();
  char* const last_start = start + room.size() - widest_cell(options);
  char* out = start;
  for (const double value : cells) {
    if (out > last_start) {
      text.append(start, out);
      out = start;
    }
    if (options.blanks == CsvBlanks::as_nan || !std::isnan(value)) {
      out = options.digits ? put_fixed(out, value, *options.digits) : put_shortest(out, value);
    }
    *out++ = ',';
  }
  if (!cells.empty()) --out;
  *out++ = '\n';
  text.append(start, out);
}

}  // namespace

void write_csv(const CsvMatrix& matrix, const CsvOptions& options, const Sink& sink) {
  refuse_misfits(matrix, options);
  const bool labelled = options.labels == CsvLabels::written &&
                        !(matrix.row_labels.empty() && matrix.column_labels.empty());
  constexpr std::size_t room_size = 1 << 14;
  constexpr std::size_t enough = 1 << 18;
  std::vector<char> room(std::max(room_size, widest_cell(options)));
  std::string text;
  if (labelled) append_column_labels(text, matrix);
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    if (labelled && !matrix.row_labels.empty()) text += csv::label_cell(matrix.row_labels[i]);
    if (labelled) text += ',';
    append_cells(text, matrix.values.subspan(i * matrix.columns, matrix.columns), options, room);
    if (text.size() < enough) continue;
    sink(text);
    text.clear();
  }
  sink(text);
}

std::string to_csv(const CsvMatrix& matrix, const CsvOptions& options) {
  std::string text;
  write_csv(matrix, options, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace qkv
