#include "formats/handwork/csv.hpp"

#include "text/strings.hpp"
#include "text/unicode.hpp"

namespace qkv::inline formats {

namespace printed_text {
namespace {

inline constexpr auto npos = std::string_view::npos;

inline constexpr std::string_view white = " \t\r\n";

inline constexpr std::string_view fit_example = "paste numbers, such as [[1, 2], [3, 4]]";

/// A printed text with its name, to report the line of an error.
struct Source {
  std::string_view text;
  const std::string& where;
  ParsedArray* bad_cells;  ///< stores the texts of cells that are not numbers, if they are kept
  std::size_t most;        ///< numbers that are read
  std::size_t& numbers;    ///< read so far

  /// Refuses the text because of its part `at`.
  template <class... Values>
  [[noreturn]] void refuse(std::string_view at, fmt::format_string<Values...> why,
                           Values&&... values) const {
    const auto line = 1 + std::count(text.data(), at.data(), '\n');
    throw InputError("{}: line {}: {}", where, line,
                     fmt::format(why, std::forward<Values>(values)...));
  }
};

/// The place behind a part of the text.
std::string_view behind(std::string_view part) { return part.substr(part.size()); }

/// Letters of any alphabet: non-ASCII bytes count as letters.
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}

/// A number or boolean, or the placeholder of a cell that is kept as text.
Numeral read_number(std::string_view token, const Source& source) {
  if (++source.numbers > source.most) refuse_surplus(source.where, source.most);
  if (token == "True" || token == "true") return {.value = 1};
  if (token == "False" || token == "false") return {.value = 0};
  const NumeralResult result = parse_cell(token);
  if (result.fault == NumeralError::none) return result.numeral;
  if (source.bad_cells == nullptr) source.refuse(token, "{}", refusal(result.fault, token));
  return keep_bad_cell(*source.bad_cells, token);
}

/// Removes one argument of a call, `dtype=float32` or `grad_fn=<MmBackward0>`; false if there is
/// none.
bool skip_argument(std::string_view& text) {
  std::size_t pos = 0;
  while (pos < text.size() && (is_letter(text[pos]) || is_digit(text[pos]))) ++pos;
  if (pos == 0 || !is_letter(text[0]) || pos == text.size() || text[pos] != '=') return false;
  ++pos;
  constexpr std::string_view openers = "<'\"(";
  constexpr std::string_view closers = ">'\")";
  const std::size_t kind = pos < text.size() ? openers.find(text[pos]) : npos;
  if (kind != npos) pos = std::min(text.find(closers[kind], pos + 1), text.size());
  text.remove_prefix(std::min(text.find_first_of(",) \t\r\n", pos), text.size()));
  return true;
}

/// Only the end of a call may follow the matrix, and nothing that could change its numbers.
void refuse_rest(const Source& source, std::string_view rest) {
  constexpr std::string_view endings = " \t\r\n),;>";
  do {
    rest.remove_prefix(std::min(rest.find_first_not_of(endings), rest.size()));
  } while (skip_argument(rest));
  if (rest.empty()) return;
  source.refuse(rest, "\"{}\" follows the last bracket: keep one matrix and nothing after it",
                printable(rest.substr(0, rest.find_first_of("\r\n"))));
}

constexpr std::size_t max_depth = 32;  // NumPy 1's limit of axes

/// Parses the nested lists that `unread` opens, as NumPy, PyTorch, Python and MATLAB write them;
/// lists of one level must have equal size. Only the end of a call may follow, and nothing that
/// could change the numbers. Throws InputError with the line.
struct BracketReader {
  const Source& source;
  std::string_view unread;
  std::vector<std::size_t> open = {};             // the number of items of each open list so far
  std::vector<std::string_view> open_start = {};  // and its start
  Shape sizes = {};              // by depth; 0 until a list of that depth has ended
  std::size_t number_depth = 0;  // 0 until the first number
  Numerals cells = {};

  ParsedArray read() {
    do {
      step();
    } while (!open.empty());
    refuse_rest(source, unread);
    return {.shape = sizes, .cells = std::move(cells)};
  }

  void step() {
    unread.remove_prefix(std::min(unread.find_first_not_of(" \t\r\n,;"), unread.size()));
    if (unread.empty()) refuse_open(open_start.back());
    if (unread.front() == '[') return open_list();
    if (unread.front() == ']') {
      close_list(unread);
      return unread.remove_prefix(1);
    }
    const std::string_view word = unread.substr(0, unread.find_first_of(" \t\r\n,;[]"));
    source.refuse(word, "\"{}\" stands beside a list: put all numbers at one depth of brackets",
                  printable(word));
  }

  [[noreturn]] void refuse_open(std::string_view bracket) const {
    source.refuse(bracket, "this [ is never closed: paste up to the last ]");
  }

  void open_list() {
    const std::size_t bracket = unread.find_first_of("[]", 1);
    if (bracket == npos) refuse_open(unread);
    if (unread[bracket] == ']') {
      read_innermost(unread.substr(1, bracket - 1));
      return unread.remove_prefix(bracket + 1);
    }
    deepen(unread);
    unread.remove_prefix(1);
  }

  void deepen(std::string_view at) {
    if (open.size() == max_depth) {
      source.refuse(at, "brackets nest more than {} deep: {}", max_depth, fit_example);
    }
    open.push_back(0);
    open_start.push_back(at);
    if (sizes.size() < open.size()) sizes.push_back(0);
  }

  /// Closes the innermost list.
  void close_list(std::string_view at) {
    const std::size_t depth = open.size() - 1;
    const std::size_t size = open.back();
    open.pop_back();
    open_start.pop_back();
    if (!open.empty()) ++open.back();
    if (sizes[depth] == 0) sizes[depth] = size;
    if (sizes[depth] == size) return;
    const bool of_numbers = depth + 1 == sizes.size();
    const std::string_view what = of_numbers ? "number" : "list";
    source.refuse(at, "this {} has {}, the first has {}: give all the same number",
                  of_numbers ? "row" : "list", pluralise(size, what),
                  pluralise(sizes[depth], what));
  }

  /// Parses a list without nested lists: one row or, with semicolons, MATLAB's rows.
  void read_innermost(std::string_view inside) {
    const std::vector<std::string_view> rows = rows_of(inside);
    if (rows.empty()) return read_row(inside);
    deepen(unread);
    for (const std::string_view row : rows) read_row(row);
    close_list(behind(inside));
  }

  /// MATLAB's rows; empty if the line breaks only wrap one long row.
  std::vector<std::string_view> rows_of(std::string_view inside) const {
    std::vector<std::string_view> rows;
    for (const std::string_view line : split(inside, '\n')) {
      for (const std::string_view row : split(line, ';')) {
        if (!trimmed(row).empty()) rows.push_back(row);
      }
    }
    if (inside.find(';') != npos || lines_are_rows(rows)) return rows;
    return {};
  }

  /// True if each line is a row: no comma crosses a line's end, and lines are too short to be
  /// wrapped by a printer. In nested brackets lines are never rows.
  bool lines_are_rows(const std::vector<std::string_view>& lines) const {
    constexpr std::size_t printers_break_at = 50;
    if (!open.empty() || lines.size() < 2) return false;
    const std::size_t count = numbers_in(lines.front());
    return std::ranges::all_of(lines, [&](std::string_view line) {
      const std::string_view text = trimmed(line);
      return !text.ends_with(',') && !text.starts_with(',') && text.size() <= printers_break_at &&
             numbers_in(line) == count;
    });
  }

  static std::size_t numbers_in(std::string_view line) {
    constexpr std::string_view breaks = " \t\r\n,";
    std::size_t count = 0;
    for (std::size_t at = 0; (at = line.find_first_not_of(breaks, at)) != npos; ++count)
      at = std::min(line.find_first_of(breaks, at), line.size());
    return count;
  }

  void read_row(std::string_view row) {
    deepen(unread);
    if (number_depth == 0) number_depth = open.size();
    if (open.size() != number_depth) {
      source.refuse(row, "numbers stand at different depths: close every row alike");
    }
    bool comma_allowed = false;
    for (std::string_view rest = row; !rest.empty();) {
      const std::string_view token = rest.substr(0, rest.find_first_of(" \t\r\n,"));
      if (!token.empty()) {
        cells.push_back(read_number(token, source));
        ++open.back();
        comma_allowed = true;
      } else if (rest.front() == ',') {
        if (!comma_allowed) source.refuse(rest, "a number is missing before this comma");
        comma_allowed = false;
      }
      rest.remove_prefix(std::max<std::size_t>(token.size(), 1));
    }
    if (open.back() == 0) source.refuse(row, "these brackets are empty: put numbers in");
    close_list(behind(row));
  }
};

/// The position of a matrix's first bracket, if only a name, a prompt or a call precedes it: "A =
/// [", "tensor([", ">>> np.array([", "Out[3]: array([".
std::optional<std::size_t> opening_bracket(std::string_view text) {
  std::size_t pos = std::min(text.find_first_not_of(white), text.size());
  for (const std::string_view prompt : {"Out[", "In ["}) {
    if (!text.substr(pos).starts_with(prompt)) continue;
    const std::size_t end = text.find("]:", pos);
    if (end == npos) return std::nullopt;
    pos = end + 2;
  }
  constexpr std::string_view marks = "=:().'>";
  bool in_word = false;
  for (; pos < text.size(); ++pos) {
    const char c = text[pos];
    if (c == '[') return pos;
    if (is_digit(c) && !in_word) return std::nullopt;
    in_word = is_letter(c) || is_digit(c);
    if (!in_word && marks.find(c) == npos && white.find(c) == npos) return std::nullopt;
  }
  return std::nullopt;
}

/// Parses what MATLAB and Octave display: rows under "A =", under a factor ("1.0e+03 *"), or under
/// "Columns 1 through 8". Throws InputError with the line.
struct DisplayReader {
  const Source& source;
  std::vector<Numerals> rows = {};
  std::vector<std::string_view> row_places = {};
  std::size_t row = 0;  // the next row of this block
  bool later_block = false;
  bool headed = false;
  int factor_exponent = 0;

  ParsedArray read() {
    for (const std::string_view line : split(source.text, '\n')) read_line(trimmed(line));
    close_block();
    if (rows.empty()) source.refuse(source.text, "there are no numbers: {}", fit_example);
    return joined();
  }

  /// True for lines that do not occur in bare rows of numbers.
  static bool is_display_line(std::string_view line) {
    return !heading(line).empty() || is_block_title(line) || line.ends_with('*') || is_note(line);
  }

  /// "A =" of "A = 1 2"; empty if the line does not begin so.
  static std::string_view heading(std::string_view line) {
    if (line.empty() || !is_letter(line[0])) return {};
    const std::size_t equals = line.find('=');
    if (equals == npos) return {};
    return line.substr(0, equals + 1);
  }

  static bool is_block_title(std::string_view line) { return line.starts_with("Column"); }

  /// True for lines that describe the kind of matrix.
  static bool is_note(std::string_view line) {
    return line == "Diagonal Matrix" || line == "Permutation Matrix" || line.starts_with("[torch.");
  }

  void read_line(std::string_view line) {
    if (line.empty() || is_note(line)) return;
    if (is_block_title(line)) return close_block();
    if (const std::string_view head = heading(line); !head.empty()) {
      if (headed) {
        source.refuse(line,
                      "a second matrix begins here: keep one matrix, or write them "
                      "as one in nested brackets");
      }
      headed = true;
      line = trimmed(line.substr(head.size()));
      if (line.empty()) return;
    }
    if (line.ends_with('*')) return read_factor(line);
    read_row(line);
  }

  /// "1.0e+03 *": all following numbers are multiplied by 1000.
  void read_factor(std::string_view line) {
    const std::string_view number = line.substr(0, line.size() - 1);
    const Numeral factor = read_number(number.substr(0, number.find_last_not_of(white) + 1),
                                       source);  // npos + 1 is 0
    const double power = std::round(std::log10(factor.value));
    if (!std::isfinite(power) ||
        parse_numeral(fmt::format("1e{}", static_cast<int>(power))).numeral.value != factor.value) {
      source.refuse(line, "a common factor must be a power of ten, such as 1.0e+03 *");
    }
    factor_exponent = static_cast<int>(power);
  }

  /// The number times the common factor, exactly: the factor is added to its exponent.
  Numeral scaled(std::string_view token) const {
    const Numeral plain = read_number(token, source);
    const bool has_digits = std::isfinite(plain.value) && !plain.scientific;
    if (factor_exponent == 0 || !has_digits) return plain;
    const NumeralResult result = parse_numeral(fmt::format("{}e{}", token, factor_exponent));
    if (result.fault != NumeralError::none)
      source.refuse(token, "{}", refusal(result.fault, token));
    Numeral numeral = result.numeral;
    numeral.scientific = false;  // the digits of all cells end at the same place
    return numeral;
  }

  void read_row(std::string_view line) {
    if (row == rows.size()) {
      if (later_block) {
        source.refuse(
            line, "this block of columns has more than the first's {}: paste all of every block",
            pluralise(rows.size(), "row"));
      }
      rows.emplace_back();
      row_places.push_back(line);
    }
    constexpr std::string_view breaks = " \t\r,;";
    for (std::size_t start = line.find_first_not_of(breaks); start != npos;) {
      const std::size_t end = std::min(line.find_first_of(breaks, start), line.size());
      rows[row].push_back(scaled(line.substr(start, end - start)));
      start = line.find_first_not_of(breaks, end);
    }
    ++row;
  }

  void close_block() {
    if (row == 0) return;
    if (row < rows.size()) {
      source.refuse(behind(source.text),
                    "a block of columns has {}, the first has {}: paste all of every block",
                    pluralise(row, "row"), pluralise(rows.size(), "row"));
    }
    row = 0;
    later_block = true;
  }

  ParsedArray joined() const {
    Numerals cells;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].size() != rows.front().size()) {
        source.refuse(row_places[i], "this row has {}, the first has {}: give all the same number",
                      pluralise(rows[i].size(), "number"),
                      pluralise(rows.front().size(), "number"));
      }
      cells.insert(cells.end(), rows[i].begin(), rows[i].end());
    }
    if (cells.empty()) source.refuse(source.text, "there are no numbers: {}", fit_example);
    return {.shape = {rows.size(), rows.front().size()}, .cells = std::move(cells)};
  }
};

void refuse_abbreviated(const Source& source) {
  const std::size_t dots = std::min(source.text.find("..."), source.text.find("…"));
  if (dots == npos) return;
  source.refuse(source.text.substr(dots),
                "numbers were left out at \"...\": print the whole matrix, with "
                "numpy.set_printoptions(threshold=sys.maxsize) or "
                "torch.set_printoptions(profile=\"full\")");
}

/// True if the first cell is empty or quoted: then it is CSV, where "..." may be a label.
bool looks_like_csv(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first != npos && std::string_view(",;\t\"").find(text[first]) != npos;
}

void refuse_without_numbers(const Source& source) {
  const std::string small = ascii_lowercase(std::string(source.text));
  for (const std::string_view sign : {"inf", "nan", "∞", "true", "false"}) {
    if (small.find(sign) != npos) return;
  }
  if (small.find_first_of("0123456789") != npos) return;
  throw InputError("{}: there are no numbers in it: {}", source.where, fit_example);
}

}  // namespace
}  // namespace printed_text

ParsedArray read_printed_text(std::string_view text, const std::string& where,
                              const ReadOptions& wanted) {
  using namespace printed_text;
  text = without_byte_order_mark(text);
  ParsedArray bad_cells;  // for the texts of cells that are not numbers
  std::size_t numbers = 0;
  const Source source{.text = text,
                      .where = where,
                      .bad_cells = wanted.on_bad_cell == OnBadCell::kept ? &bad_cells : nullptr,
                      .most = wanted.most_of({}),
                      .numbers = numbers};
  if (looks_like_csv(text)) return read_csv(text, where, wanted);
  refuse_abbreviated(source);
  const auto start = opening_bracket(text);
  if (!start) {
    refuse_without_numbers(source);
    const auto is_displayed = [](auto line) {
      return DisplayReader::is_display_line(trimmed(line));
    };
    if (std::ranges::none_of(split(text, '\n'), is_displayed)) return read_csv(text, where, wanted);
  }
  ParsedArray written = start ? BracketReader{source, source.text.substr(*start)}.read()
                              : DisplayReader{source}.read();
  resolve_precision(written.cells.to_write());
  written.bad_texts = std::move(bad_cells.bad_texts);
  return written;
}

}  // namespace qkv::inline formats
