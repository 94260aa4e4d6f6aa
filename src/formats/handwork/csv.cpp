#include "formats/handwork/csv.hpp"

#include <atomic>

#include "tensor/resources.hpp"
#include "text/strings.hpp"

namespace qkv::inline formats {

namespace {

using csv::Field;
using csv::Row;
using csv::Table;
using Rows = std::vector<Row>;
using Fields = std::span<const Field>;

struct Size {
  std::size_t rows = 0;
  std::size_t columns = 0;
};

/// One way to read a table: which rows hold the numbers, and where the names are.
struct Layout {
  Rows rows;
  std::size_t named = 0;      ///< 1 if each row begins with its name
  Fields names = {};          ///< of the columns; empty, or one for each
  bool joins_commas = false;  ///< "0,5" is one number

  std::size_t columns() const { return joins_commas ? 1 : rows.front().size - named; }
};

bool is_empty_field(const Field& field) { return field.text.empty() && !field.quoted; }
bool is_blank_field(const Field& field) { return trimmed(field.text).empty(); }

bool is_word(const Field& field) {
  const std::string_view text = trimmed(field.text);
  return !text.empty() &&
         parse_cell(text, decimal_mark_of(text)).fault == NumeralError::not_a_number;
}

bool are_words(Fields fields) { return !fields.empty() && std::ranges::all_of(fields, is_word); }

// 0, 1, 2 or 1, 2, 3: programs write these over unnamed columns.
bool counts_up(Fields fields) {
  for (const double first : {0.0, 1.0}) {
    double next = first;
    const bool all = std::ranges::all_of(fields, [&](const Field& field) {
      const NumeralResult result = parse_numeral(trimmed(field.text));
      return result.fault == NumeralError::none && result.numeral.value == next++;
    });
    if (all) return true;
  }
  return false;
}

// ---------------------------------------------------------------- rows

// Leaves out empty rows at both ends, as spreadsheets save them, but keeps so many rows.
std::span<const Row> without_empty_edges(const Table& table, std::span<const Row> rows,
                                         std::size_t kept) {
  const auto is_empty = [&](const Row& row) {
    return std::ranges::all_of(table.of(row), is_empty_field);
  };
  while (rows.size() > kept && is_empty(rows.back())) rows = rows.first(rows.size() - 1);
  while (rows.size() > kept && is_empty(rows.front())) rows = rows.subspan(1);
  return rows;
}

// The rows if they have exactly this size, without empty rows and columns that are too many.
std::optional<Rows> rows_of_size(const Table& table, std::span<const Row> rows, Size size) {
  rows = without_empty_edges(table, rows, size.rows);
  if (rows.size() != size.rows || rows.empty()) return std::nullopt;
  Rows kept(rows.begin(), rows.end());
  for (Row& row : kept) {
    while (row.size > size.columns && is_empty_field(table.fields[row.first + row.size - 1])) {
      --row.size;
    }
    if (row.size != size.columns) return std::nullopt;
  }
  return kept;
}

// In a file of one column an empty line may be a blank cell. The expected number of rows decides;
// without it, only lines between two numbers are cells.
Rows without_blank_lines(const Table& table, std::optional<Size> expected, std::size_t stacked) {
  Rows rows = table.rows;
  const auto is_blank = [&](const Row& row) {
    return row.size == 1 && is_empty_field(table.fields[row.first]);
  };
  const auto blank_rows = static_cast<std::size_t>(std::ranges::count_if(rows, is_blank));
  const bool one_column = std::ranges::all_of(rows, [](const Row& row) { return row.size == 1; });
  // A single row may stand upright.
  const std::size_t expected_rows = !expected             ? 0
                                    : expected->rows == 1 ? expected->columns
                                                          : expected->rows;
  const std::size_t count = rows.size() - blank_rows;
  if (!one_column || count == expected_rows || count == expected_rows * stacked) {
    std::erase_if(rows, is_blank);
    return rows;
  }
  while (rows.size() > expected_rows && is_blank(rows.back())) rows.pop_back();
  if (rows.size() > expected_rows)
    rows.erase(rows.begin(), std::ranges::find_if_not(rows, is_blank));
  return rows;
}

// Leaves out "Scores" or "head 2:", alone on its line. More than `most` are rows left blank.
Rows without_titles(const Table& table, const Rows& rows, std::size_t most) {
  Rows kept = rows;
  std::erase_if(kept, [&](const Row& row) {
    const Fields fields = table.of(row);
    return is_word(fields.front()) && std::ranges::all_of(fields.subspan(1), is_blank_field);
  });
  return rows.size() - kept.size() > most ? rows : kept;
}

// Leaves out the names over each matrix but the first, if these are the same names.
Rows without_repeated_names(const Table& table, Rows rows, std::size_t matrices) {
  if (rows.empty()) return rows;
  const Fields first = table.of(rows.front());
  const bool has_corner = first.size() > 1 && is_blank_field(first.front());
  const Fields names = has_corner ? first.subspan(1) : first;
  if (!are_words(names) && !(has_corner && counts_up(names))) return rows;
  const auto repeats = [&](const Row& row) {
    return std::ranges::equal(table.of(row), first, {}, &Field::text, &Field::text);
  };
  if (static_cast<std::size_t>(std::ranges::count_if(rows, repeats)) != matrices) return rows;
  rows.erase(std::remove_if(rows.begin() + 1, rows.end(), repeats), rows.end());
  return rows;
}

// ---------------------------------------------------------------- layouts

// True if `holds` for each field of the first row and column but the corner, and its number.
template <class Holds>
bool all_of_margins(const Table& table, const Rows& rows, const Holds& holds) {
  const Fields first = table.of(rows.front());
  for (std::size_t j = 1; j < first.size(); ++j) {
    if (!holds(first[j], j)) return false;
  }
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (!holds(table.of(rows[i]).front(), i)) return false;
  }
  return true;
}

// True if the first cell is empty, and a word stands in the first row or column.
bool has_words_in_margins(const Table& table, const Rows& rows) {
  const auto is_no_word = [](const Field& field, std::size_t) {
    return !is_word(field) || stands_for_blank(trimmed(field.text));
  };
  return table.of(rows.front()).front().text.empty() && !all_of_margins(table, rows, is_no_word);
}

Layout inside_margins(const Table& table, Rows rows) {
  const Fields names = table.of(rows.front()).subspan(1);
  rows.erase(rows.begin());
  return {.rows = std::move(rows), .named = 1, .names = names};
}

using Reading = std::optional<Layout>(const Table&, const Rows&, Size);

// Numbers alone.
std::optional<Layout> plain(const Table& table, const Rows& rows, Size size) {
  auto kept = rows_of_size(table, rows, size);
  if (!kept || has_words_in_margins(table, *kept)) return std::nullopt;
  return Layout{.rows = *std::move(kept)};
}

// Names over the columns and before the rows; the corner is empty, or a word beside names.
std::optional<Layout> labelled(const Table& table, const Rows& rows, Size size) {
  auto kept = rows_of_size(table, rows, {size.rows + 1, size.columns + 1});
  if (!kept) return std::nullopt;
  const Fields first = table.of(kept->front());
  const Fields names = first.subspan(1);
  const auto is_number = [](const Field& name) { return !is_word(name) && !name.quoted; };
  const bool are_cells = std::ranges::all_of(names, is_number) && !counts_up(names);
  if (!first[0].text.empty() && (!is_word(first[0]) || are_cells)) return std::nullopt;
  return inside_margins(table, *std::move(kept));
}

// "the,0.5,0.25" in each row.
std::optional<Layout> named_rows(const Table& table, const Rows& rows, Size size) {
  auto kept = rows_of_size(table, rows, {size.rows, size.columns + 1});
  const auto has_name = [&](const Row& row) { return is_word(table.of(row).front()); };
  if (!kept || !std::ranges::all_of(*kept, has_name)) return std::nullopt;
  return Layout{.rows = *std::move(kept), .named = 1};
}

// Names or numbers over the columns, as many as the rows below have cells.
std::optional<Layout> named_columns(const Table& table, const Rows& rows, Size size) {
  if (rows.empty()) return std::nullopt;
  const Fields names = table.of(rows.front());
  const bool are_names = are_words(names) || counts_up(names);
  // A word alone over one column is a title.
  if (size.columns == 1 || names.size() != size.columns || !are_names) return std::nullopt;
  const Rows below(rows.begin() + 1, rows.end());
  auto layout = named_rows(table, below, size);
  if (!layout) layout = plain(table, below, size);
  if (layout) layout->names = names;
  return layout;
}

std::string joined_by_comma(Fields parts) {
  std::string joined(parts[0].text);
  if (parts.size() == 2) joined.append(",").append(parts[1].text);
  return joined;
}

// One column with decimal commas, which looks like two columns. A whole number or a blank has no
// comma. Nothing may stand before a comma (",5") if digits do elsewhere.
std::optional<Layout> decimal_commas(const Table& table, const Rows& rows, Size size) {
  if (table.separator != ',' || size.columns != 1) return std::nullopt;
  const auto with_empty = without_empty_edges(table, table.rows, size.rows);
  const std::span<const Row> all = rows.size() == size.rows ? std::span(rows) : with_empty;
  const auto is_one_number = [&](const Row& row) {
    const Fields parts = table.of(row);
    const std::string_view only = trimmed(parts[0].text);
    if (row.size == 1 && (only.empty() || stands_for_blank(only))) return true;
    return row.size <= 2 && !is_empty_field(parts.back()) &&
           parse_cell(joined_by_comma(parts), DecimalMark::comma).fault == NumeralError::none;
  };
  const auto is_whole = [&](const Row& row) {
    return row.size == 2 && std::ranges::none_of(table.of(row), is_empty_field);
  };
  if (all.size() != size.rows || !std::ranges::all_of(all, is_one_number) ||
      std::ranges::none_of(all, is_whole))
    return std::nullopt;
  return Layout{.rows = Rows(all.begin(), all.end()), .joins_commas = true};
}

constexpr Reading* readings[] = {plain, labelled, named_columns, named_rows, decimal_commas};

// ---------------------------------------------------------------- numbers

/// Parses the cells of a layout.
struct CellReader {
  const Table& table;
  const std::string& where;
  std::string joined = {};
  /// A cell such as 1,572,864 may show what all commas are; unset: there was none.
  std::optional<bool> has_thousands = {};

  /// Returns the numbers. `on_bad_cell` says what to do with a cell that is not one; without it,
  /// nothing is returned then, or if there are two decimal marks. Throws InputError.
  std::optional<ParsedArray> read(const Layout& layout, std::optional<OnBadCell> on_bad_cell) {
    ParsedArray written;
    written.shape = {layout.rows.size(), layout.columns()};
    Numerals cells;
    cells.reserve(element_count(written.shape, where));
    bool comma_seen = false;
    bool point_seen = false;
    for (const Row& row : layout.rows) {
      for (std::size_t j = layout.named; j < layout.named + layout.columns(); ++j) {
        const std::string_view text = text_of(layout, row, j);
        if (text.empty()) {
          cells.push_back({.value = std::nan("")});
          continue;
        }
        const DecimalMark mark =
            has_thousands.value_or(false) ? DecimalMark::thousands : decimal_mark_of(text);
        NumeralResult result = parse_cell(text, mark);
        const std::size_t comma = text.find(',');
        const bool is_bad = result.fault != NumeralError::none;
        const bool has_commas = comma != text.rfind(',') && text.find('/') == text.npos;
        const bool are_decimal = has_thousands == true && comma != text.npos && is_bad &&
                                 parse_cell(text, DecimalMark::comma).fault == NumeralError::none;
        if (are_decimal || (!has_thousands && has_commas && !is_bad)) {
          has_thousands = !are_decimal;
          return read(layout, on_bad_cell);
        }
        comma_seen = comma_seen || mark == DecimalMark::comma;
        point_seen = point_seen || text.find('.') != text.npos;
        if (is_bad || (comma_seen && point_seen)) {
          if (!on_bad_cell) return std::nullopt;
          if (*on_bad_cell == OnBadCell::refused) refuse(result.fault, text, layout, row, j);
          if (is_bad) result.numeral = keep_bad_cell(written, text);
        }
        cells.push_back(result.numeral);
      }
    }
    written.cells = std::move(cells);
    return written;
  }

  std::string_view text_of(const Layout& layout, const Row& row, std::size_t column) {
    if (layout.joins_commas) return joined = joined_by_comma(table.of(row));
    const std::string_view text = table.fields[row.first + column].text;
    const bool is_trimmed = text.empty() || (text.front() > ' ' && text.back() > ' ');
    return is_trimmed ? text : trimmed(text);
  }

  [[noreturn]] void refuse(NumeralError fault, std::string_view text, const Layout& layout,
                           const Row& row, std::size_t column) const {
    std::string message = fmt::format("{}: row {}, column {}: ", where, row.line, column + 1);
    if (fault == NumeralError::none) {
      const bool is_comma = decimal_mark_of(text) == DecimalMark::comma;
      throw InputError(
          "{}\"{}\" has a decimal {}, a cell before it a {}: write all with points, and no mark "
          "between thousands",
          message, printable(text), is_comma ? "comma" : "point", is_comma ? "point" : "comma");
    }
    message += refusal(fault, text);
    const bool is_first_row = row.line == layout.rows.front().line && layout.names.empty();
    const bool is_word =
        std::string_view("0123456789+-.,\"").find(text.front()) == std::string_view::npos;
    if ((is_first_row || column == 0) && is_word) {
      message += "; if the first row or column are labels, leave the first cell of the file empty";
    }
    throw InputError(message);
  }
};

// Returns no labels if all are empty or only count.
std::vector<std::string> informative_labels(std::vector<std::string> labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (!labels[i].empty() && labels[i] != std::to_string(i + 1)) return labels;
  }
  return {};
}

ParsedArray with_labels(ParsedArray written, const Table& table, const Layout& layout) {
  std::vector<std::string> row_labels;
  for (std::size_t i = 0; layout.named > 0 && i < layout.rows.size(); ++i) {
    row_labels.push_back(csv::label_of(table.of(layout.rows[i]).front().text));
  }
  written.row_labels = informative_labels(std::move(row_labels));
  written.column_labels = informative_labels(
      mapped(layout.names, [](const Field& name) { return csv::label_of(name.text); }));
  resolve_precision(written.cells.to_write());
  if (layout.joins_commas) written.remark = "its commas are read as decimal commas";
  return written;
}

// ---------------------------------------------------------------- the choice

/// Reads a table by the first layout that has the expected size and whose cells are all numbers.
struct TableReader {
  const Table& table;
  const std::string& where;
  const ReadOptions& wanted;
  CellReader cells = {table, where};
  std::optional<Size> expected = {};
  std::optional<Layout> first = {};  // the first of the expected size, though a cell is no number

  ParsedArray read() {
    if (wanted.expected) expected = Size{(*wanted.expected)[0], (*wanted.expected)[1]};
    const Rows rows = without_blank_lines(table, expected, wanted.stacked);
    refuse_empty_table(rows);
    auto good = read_of_expected_size(without_empty_edges(table, rows, 0));
    if (!good && !first) good = read_of_expected_size(rows);
    if (!good && !first) good = read_of_expected_size(without_titles(table, rows, most_titles()));
    if (!good && !first && expected) {  // rows and columns may have changed places
      std::swap(expected->rows, expected->columns);
      good = read_of_expected_size(without_empty_edges(table, rows, 0));
      if (!good && !first) std::swap(expected->rows, expected->columns);
    }
    if (good) return *std::move(good);
    const Layout layout = first ? *std::move(first) : layout_of_any_size(rows);
    ParsedArray written = *cells.read(layout, wanted.on_bad_cell);
    refuse_words(written);
    written.remark = remark_on(written);
    return with_labels(std::move(written), table, layout);
  }

  std::optional<ParsedArray> read_of_expected_size(std::span<const Row> all) {
    if (!expected || expected->rows == 0 || expected->columns == 0) return std::nullopt;
    const Rows rows(all.begin(), all.end());
    auto good = read_stacked(rows, wanted.stacked);
    if (!good && wanted.stacked > 1) good = read_stacked(rows, 1);
    return good;
  }

  // Tries all readings of so many matrices of the expected size, one below the other.
  std::optional<ParsedArray> read_stacked(const Rows& rows, std::size_t matrices) {
    const Size size{expected->rows * matrices, expected->columns};
    const Rows kept = matrices > 1 ? without_repeated_names(table, rows, matrices) : rows;
    for (Reading* const reading : readings) {
      auto layout = reading(table, kept, size);
      if (!layout) continue;
      auto written = cells.read(*layout, {});
      const bool has_number =
          written &&
          std::ranges::any_of(written->cells, [](const Numeral& cell) { return !cell.is_blank(); });
      // Names prove nothing where no number stands.
      if (written && (has_number || reading == plain)) {
        return with_labels(*std::move(written), table, *layout);
      }
      if (!first) first = std::move(layout);
    }
    return std::nullopt;
  }

  // Of a table that has not the expected size, or where none is known: labels are known by an empty
  // first cell, and words or numbers that count beside it.
  Layout layout_of_any_size(Rows rows) const {
    if (Rows kept = without_titles(table, rows, most_titles());
        is_ragged(rows) && expected && !kept.empty()) {
      rows = std::move(kept);
    }
    refuse_ragged_rows(rows);
    const std::size_t columns = rows.front().size;
    const bool has_expected_size =
        expected && columns == expected->columns &&
        (rows.size() == expected->rows || rows.size() == expected->rows * wanted.stacked);
    if (!has_words_in_margins(table, rows) && (has_expected_size || !has_places_in_margins(rows))) {
      return {.rows = std::move(rows)};
    }
    if (rows.size() == 1 || columns == 1) {
      throw InputError(where +
                       ": there are labels but no numbers: write a number under each label");
    }
    return inside_margins(table, std::move(rows));
  }

  // True if the first cell is empty, and each field of the first row and column is a word, its
  // place, or another number in quotes, as write_csv writes it.
  bool has_places_in_margins(const Rows& rows) const {
    if (rows.size() < 2 || rows.front().size < 2) return false;
    if (!table.of(rows.front()).front().text.empty()) return false;
    const bool quotes_tell = !table.of(rows[1])[1].quoted;
    return all_of_margins(table, rows, [&](const Field& field, std::size_t place) {
      return is_word(field) || field.text == std::to_string(place) ||
             (quotes_tell && field.quoted && !field.text.empty());
    });
  }

  void refuse_empty_table(const Rows& rows) const {
    const bool one_column = rows.empty() || rows.front().size <= 1;
    if (!one_column || !std::ranges::all_of(table.fields, is_empty_field)) return;
    throw InputError(where +
                     ": the file is empty: write one row of numbers a line, such as 0.5,0.25");
  }

  // One over all matrices, and one over each.
  std::size_t most_titles() const { return wanted.stacked + 1; }

  static bool is_ragged(const Rows& rows) {
    return std::ranges::any_of(rows, [&](const Row& row) { return row.size != rows.front().size; });
  }

  void refuse_ragged_rows(const Rows& rows) const {
    const auto cells_of = [](const Row& row) { return pluralise(row.size, "cell"); };
    const auto may_have_decimal_commas = [&](const Row& row) {
      return row.size >= expected->columns && row.size <= 2 * expected->columns;
    };
    for (const Row& row : rows) {
      if (row.size == rows.front().size) continue;
      const bool has_decimal_commas =
          table.separator == ',' && expected && std::ranges::all_of(rows, may_have_decimal_commas);
      throw InputError("{}: row {} has {}, row {} has {}: give every row {}{}{}", where, row.line,
                       cells_of(row), rows.front().line, cells_of(rows.front()),
                       cells_of(rows.front()), expected ? ", an empty one for a blank" : "",
                       has_decimal_commas ? decimal_commas_hint : "");
    }
  }

  // A file of words is not a matrix, unless it has the expected size.
  void refuse_words(const ParsedArray& written) const {
    if (written.bad_texts.empty()) return;
    const bool fits = expected && written.shape == Shape{expected->rows, expected->columns};
    const bool some = std::ranges::any_of(
        written.cells, [](const Numeral& cell) { return !std::isnan(cell.value); });
    if (fits || some) return;
    throw InputError("{}: {}", where,
                     refusal(NumeralError::not_a_number, written.bad_texts.front()));
  }

  // A remark about decimal commas, if rows have twice the expected cells, separated by commas.
  std::string remark_on(const ParsedArray& written) const {
    const auto has_point = [](const Numeral& cell) { return cell.decimals > 0; };
    if (!expected || table.separator != ',' || written.shape[0] != expected->rows ||
        written.shape[1] != 2 * expected->columns ||
        std::ranges::any_of(written.cells, has_point)) {
      return {};
    }
    return fmt::format("each row has {} cells instead of {}{}", written.shape[1], expected->columns,
                       decimal_commas_hint);
  }

  static constexpr std::string_view decimal_commas_hint =
      "; if the commas are decimal commas, write points, or ; between the numbers";
};

// Reads equally long rows of numbers between commas, as programs write them. Nothing for any other
// text, or one that has not the expected size: a reading may fit it.
std::optional<ParsedArray> read_rows_of_numbers(std::string_view text, const ReadOptions& wanted) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  const std::vector<std::string_view> lines = split(text, '\n');
  const auto commas = static_cast<std::size_t>(std::ranges::count(lines.front(), ','));
  const Shape shape{lines.size(), commas + 1};
  const bool fits = !wanted.expected || std::ranges::equal(*wanted.expected, shape);
  const std::size_t most = std::min(wanted.most_of({}), text.size() / 2 + 1);
  if (commas == 0 || !fits || shape[0] * shape[1] > most) return {};
  Numerals cells(shape[0] * shape[1]);
  std::atomic<bool> are_numbers = true;
  parallel_for(lines.size(), 1, 64 * shape[1], [&](std::size_t i, std::size_t end) {
    for (; i < end && are_numbers; ++i) {
      std::string_view rest = lines[i];
      for (std::size_t j = 0; j < shape[1]; ++j) {
        const std::size_t length = j < commas ? rest.find(',') : rest.size();
        const NumeralResult result = parse_numeral(rest.substr(0, length));
        if (length == rest.npos || result.fault != NumeralError::none) are_numbers = false;
        cells[i * shape[1] + j] = result.numeral;
        rest.remove_prefix(std::min(length + 1, rest.size()));
      }
    }
  });
  ParsedArray written{.shape = shape, .cells = std::move(cells)};
  return are_numbers ? std::optional(std::move(written)) : std::nullopt;
}

// Takes each line as one cell: in one column a blank may be part of it, as in "don't know".
void rejoin_lines(Table& table) {
  for (Row& row : table.rows) {
    Field& first = table.fields[row.first];
    const std::string_view last = table.fields[row.first + row.size - 1].text;
    if (row.size > 1) first = {.text = {first.text.begin(), last.end()}};
    row.size = 1;
  }
}

}  // namespace

ParsedArray read_csv(std::string_view text, const std::string& where, const ReadOptions& wanted) {
  text = without_byte_order_mark(text);
  if (text.starts_with("sep=") || text.starts_with("SEP=")) {
    const std::size_t end = text.find('\n');
    if (end <= 6) text.remove_prefix(end + 1);  // "sep=;", a line for Excel
  }
  if (auto numbers = read_rows_of_numbers(text, wanted)) return *std::move(numbers);
  Table table = csv::split(text, where, wanted.most_of({}),
                           wanted.expected ? csv::Bars::separate : csv::Bars::are_text);
  try {
    return TableReader{table, where, wanted}.read();
  } catch (const InputError&) {
    if (table.separator != ' ' || !wanted.expected || (*wanted.expected)[1] != 1) throw;
  }
  rejoin_lines(table);
  return TableReader{table, where, wanted}.read();
}

}  // namespace qkv::inline formats
