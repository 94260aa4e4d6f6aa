#include "formats/handwork/printed_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "formats/handwork/numeral.hpp"
#include "text/counted.hpp"
#include "text/strings.hpp"

namespace qkv::pasted {
namespace {

constexpr std::size_t deepest = 32;  // as many axes as NumPy 1 has

/// Reads nested lists of numbers, and checks that lists of one level are of one size.
class BracketReader {
 public:
  BracketReader(const Source& source, std::size_t start) : source_(source), pos_(start) {}

  Written read() {
    do {
      step();
    } while (!open_.empty());
    Written written;
    written.shape = sizes_;
    written.cells = std::move(cells_);
    return written;
  }

  std::size_t end() const { return pos_; }

 private:
  char at(std::size_t pos) const { return pos < source_.text.size() ? source_.text[pos] : '\0'; }

  std::string_view text_of(const Piece& piece) const {
    return source_.text.substr(piece.start, piece.end - piece.start);
  }

  void step() {
    const std::size_t start =
        std::min(source_.text.find_first_not_of(" \t\r\n,;", pos_), source_.text.size());
    if (start == source_.text.size()) {
      source_.refuse(open_start_.back(), "this [ is never closed: paste up to the last ]");
    }
    pos_ = start;
    if (at(pos_) == '[') return open_list();
    if (at(pos_) == ']') return close_list(pos_++);
    const std::size_t stop = source_.text.find_first_of(" \t\r\n,;[]", pos_);
    source_.refuse(pos_, fmt::format("\"{}\" stands beside a list: put all numbers at one depth "
                                     "of brackets",
                                     printable(source_.text.substr(pos_, stop - pos_))));
  }

  void open_list() {
    const std::size_t bracket = source_.text.find_first_of("[]", pos_ + 1);
    if (bracket == npos) {
      source_.refuse(pos_, "this [ is never closed: paste up to the last ]");
    }
    if (source_.text[bracket] == ']') {
      read_innermost({.start = pos_ + 1, .end = bracket});
      pos_ = bracket + 1;
      return;
    }
    deepen();
    ++pos_;
  }

  void deepen() {
    if (open_.size() == deepest) {
      source_.refuse(pos_,
                     fmt::format("brackets nest more than {} deep: {}", deepest, fit_example));
    }
    open_.push_back(0);
    open_start_.push_back(pos_);
    if (sizes_.size() < open_.size()) sizes_.push_back(0);
  }

  /// Ends the list on top, which stands at `pos`.
  void close_list(std::size_t pos) {
    const std::size_t depth = open_.size() - 1;
    const std::size_t size = open_.back();
    open_.pop_back();
    open_start_.pop_back();
    if (!open_.empty()) ++open_.back();
    if (sizes_[depth] == 0) sizes_[depth] = size;
    if (sizes_[depth] == size) return;
    const bool of_numbers = depth + 1 == sizes_.size();
    const std::string_view what = of_numbers ? "number" : "list";
    source_.refuse(pos, fmt::format("this {} has {}, the first has {}: give all the same number",
                                    of_numbers ? "row" : "list", counted(size, what),
                                    counted(sizes_[depth], what)));
  }

  /// A list without lists in it: one row, or with semicolons MATLAB's rows.
  void read_innermost(const Piece& inside) {
    const std::vector<Piece> rows = rows_of(inside);
    if (rows.empty()) return read_row(inside);
    deepen();
    for (const Piece& row : rows) read_row(row);
    close_list(inside.end);
  }

  /// MATLAB's rows; none where the line breaks are there only because the row was too long.
  std::vector<Piece> rows_of(const Piece& inside) const {
    const std::string_view text = text_of(inside);
    const bool semicolons = text.find(';') != npos;
    std::vector<Piece> rows;
    for (std::size_t start = inside.start; start < inside.end;) {
      const std::size_t end = std::min(source_.text.find_first_of(";\n", start), inside.end);
      const Piece row{.start = start, .end = end};
      if (!trimmed(text_of(row)).empty()) rows.push_back(row);
      start = end + 1;
    }
    if (semicolons || lines_are_rows(rows)) return rows;
    return {};
  }

  /// Whether a person typed one row a line: no comma leads over a line's end, and the lines are
  /// too short to have been broken by a printer. Inside other brackets lines are never rows.
  bool lines_are_rows(const std::vector<Piece>& lines) const {
    constexpr std::size_t printers_break_at = 50;
    if (!open_.empty() || lines.size() < 2) return false;
    const std::size_t count = numbers_in(lines.front());
    for (const Piece& line : lines) {
      const std::string_view text = trimmed(text_of(line));
      if (text.ends_with(',') || text.starts_with(',') || text.size() > printers_break_at) {
        return false;
      }
      if (numbers_in(line) != count) return false;
    }
    return true;
  }

  std::size_t numbers_in(const Piece& line) const {
    std::size_t count = 0;
    bool inside = false;
    for (const char c : text_of(line)) {
      const bool separator = white.find(c) != npos || c == ',';
      if (!separator && !inside) ++count;
      inside = !separator;
    }
    return count;
  }

  void read_row(const Piece& row) {
    deepen();
    if (number_depth_ == 0) number_depth_ = open_.size();
    if (open_.size() != number_depth_) {
      source_.refuse(row.start, "numbers stand at different depths: close every row alike");
    }
    bool comma_allowed = false;
    for (std::size_t pos = row.start; pos < row.end;) {
      const char c = at(pos);
      if (c == ',') {
        if (!comma_allowed) source_.refuse(pos, "a number is missing before this comma");
        comma_allowed = false;
        ++pos;
      } else if (white.find(c) != npos) {
        ++pos;
      } else {
        pos = read_cell(pos, row.end);
        comma_allowed = true;
      }
    }
    if (open_.back() == 0) source_.refuse(row.start, "these brackets are empty: put numbers in");
    close_list(row.end);
  }

  std::size_t read_cell(std::size_t start, std::size_t row_end) {
    const std::size_t end = std::min(source_.text.find_first_of(" \t\r\n,", start), row_end);
    cells_.push_back(read_number(text_of({.start = start, .end = end}), source_, start));
    ++open_.back();
    return end;
  }

  const Source& source_;
  std::size_t pos_;
  std::vector<std::size_t> open_ = {};        // how many items each open list has so far
  std::vector<std::size_t> open_start_ = {};  // and where it begins
  Shape sizes_ = {};                          // by depth; 0 until a list of that depth has ended
  std::size_t number_depth_ = 0;              // 0 until the first number
  Numerals cells_ = {};
};

/// The end of one argument of a call, such as `dtype=float32` or `grad_fn=<MmBackward0>`; npos
/// where there is none.
std::size_t skip_argument(std::string_view text, std::size_t pos) {
  while (pos < text.size() && (is_letter(text[pos]) || is_digit(text[pos]))) ++pos;
  if (pos >= text.size() || text[pos] != '=') return npos;
  ++pos;
  constexpr std::string_view openers = "<'\"(";
  constexpr std::string_view closers = ">'\")";
  const std::size_t kind = pos < text.size() ? openers.find(text[pos]) : npos;
  if (kind != npos) pos = std::min(text.find(closers[kind], pos + 1), text.size());
  return std::min(text.find_first_of(",) \t\r\n", pos), text.size());
}

/// After the matrix there may be what ends its call, and nothing that could change its numbers.
void refuse_rest(const Source& source, std::size_t pos) {
  constexpr std::string_view endings = " \t\r\n),;>";
  for (;;) {
    pos = source.text.find_first_not_of(endings, pos);
    if (pos == npos) return;
    const std::size_t end = is_letter(source.text[pos]) ? skip_argument(source.text, pos) : npos;
    if (end == npos) {
      const std::size_t line_end = source.text.find_first_of("\r\n", pos);
      source.refuse(pos, fmt::format("\"{}\" follows the last bracket: keep one matrix and "
                                     "nothing after it",
                                     printable(source.text.substr(pos, line_end - pos))));
    }
    pos = end;
  }
}

}  // namespace

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

Written read_brackets(const Source& source, std::size_t start) {
  BracketReader reader(source, start);
  Written written = reader.read();
  refuse_rest(source, reader.end());
  return written;
}

}  // namespace qkv::pasted
