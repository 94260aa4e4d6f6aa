#include "formats/handwork/csv.hpp"
#include "tensor/resources.hpp"
#include "text/number.hpp"
#include "text/strings.hpp"
#include "text/unicode.hpp"

namespace qkv::inline formats {
namespace {

// Characters that begin a formula, and the full-width forms that some spreadsheets accept.
constexpr std::string_view starts[] = {"=",  "+",  "-",  "@",  "\t", "\r",
                                       "\n", "＝", "＋", "－", "＠"};

// Blanks and invisible characters (controls, directional marks), which spreadsheets may skip.
bool is_skipped(CodePoint code) {
  return code != bad_byte && (is_invisible(code) || category_group(code) == 'Z');
}

/// True if a spreadsheet might run `label` as a formula, ignoring existing apostrophes before it.
bool needs_guard(std::string_view label) {
  label.remove_prefix(std::min(label.find_first_not_of('\''), label.size()));
  const auto starts_label = [&](std::string_view start) { return label.starts_with(start); };
  while (!label.empty() && std::ranges::none_of(starts, starts_label)) {
    const DecodedCodePoint first = decode_code_point(label, 0);
    if (!is_skipped(first.code)) return false;
    label.remove_prefix(first.bytes);
  }
  return !label.empty();
}

/// A number as a label is quoted, unless it is its own index, so that it is not taken for a cell.
std::string label_at(std::string_view label, std::size_t place) {
  const bool is_number = parse_cell(label, decimal_mark_of(label)).fault == NumeralError::none;
  if (!is_number || label == std::to_string(place + 1)) return csv::label_cell(label);
  const std::string text = csv::label_cell(label);
  return text.starts_with('"') || text.starts_with('\'') ? text : '"' + text + '"';
}

bool is_labelled(const CsvMatrix& matrix, const CsvOptions& options) {
  return options.labels == CsvLabels::written &&
         !(matrix.row_labels.empty() && matrix.column_labels.empty());
}

std::string rows_text(const CsvMatrix& matrix, const CsvOptions& options, std::size_t begin,
                      std::size_t end) {
  std::vector<char> room(options.digits ? max_fixed_length(*options.digits) : max_shortest_length);
  char* const start = room.data();
  const bool labelled = is_labelled(matrix, options);
  constexpr std::size_t typical_cell_bytes = 21;  // sign, 17 digits, point and comma
  std::string text;
  text.reserve(typical_cell_bytes * (end - begin) * (matrix.columns + 1));
  for (std::size_t i = begin; i < end; ++i) {
    if (labelled && !matrix.row_labels.empty()) text += label_at(matrix.row_labels[i], i);
    if (labelled) text += ',';
    for (std::size_t k = i * matrix.columns; k < (i + 1) * matrix.columns; ++k) {
      if (options.text) {
        text += options.text(k);
      } else {
        const double value = matrix.values[k];
        text.append(start, options.digits ? write_fixed(start, value, *options.digits)
                                          : write_shortest(start, value));
      }
      text += ',';
    }
    text.back() = '\n';
  }
  return text;
}

}  // namespace

namespace csv {

std::string label_cell(std::string_view label) {
  std::string text(label);
  if (needs_guard(label)) text.insert(text.begin(), '\'');
  const bool has_marks = text.find_first_of(",;|\t\"\r\n") != std::string::npos;
  const bool blank_at_an_end = text.starts_with(' ') || text.ends_with(' ');
  if (!has_marks && !blank_at_an_end) return text;
  return '"' + replace_all(text, "\"", "\"\"") + '"';
}

std::string label_of(std::string_view cell) {
  const bool guarded = cell.starts_with('\'') && needs_guard(cell);
  return composed(cell.substr(guarded ? 1 : 0));
}

}  // namespace csv

// Pieces of rows are formatted in parallel, and written in order.
void write_csv(const CsvMatrix& matrix, const CsvOptions& options, const Sink& sink) {
  if (is_labelled(matrix, options)) {
    std::string labels;
    for (std::size_t j = 0; j < matrix.columns; ++j) {
      labels += ',';
      if (!matrix.column_labels.empty()) labels += label_at(matrix.column_labels[j], j);
    }
    sink(labels += '\n');
  }
  constexpr std::size_t numbers_in_piece = 1 << 14;
  constexpr std::size_t operations = 64;  // per number, to format its digits
  const std::size_t rows = std::max<std::size_t>(1, numbers_in_piece / (matrix.columns + 1));
  const auto piece = [&](std::size_t i) {
    return rows_text(matrix, options, i * rows, std::min(matrix.rows, (i + 1) * rows));
  };
  in_order((matrix.rows + rows - 1) / rows, operations * rows * matrix.columns, piece, sink);
}

std::string to_csv(const CsvMatrix& matrix, const CsvOptions& options) {
  std::string text;
  write_csv(matrix, options, [&](std::string_view piece) { text += piece; });
  return text;
}

}  // namespace qkv::inline formats
