#include "formats/handwork/pasted_display.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "formats/handwork/numeral.hpp"
#include "text/counted.hpp"
#include "text/strings.hpp"

namespace qkv::pasted {
namespace {

/// Reads rows that stand under "A =", under a common factor such as "1.0e+03 *", or in blocks under
/// "Columns 1 through 8".
class DisplayReader {
 public:
  explicit DisplayReader(const Source& source) : source_(source) {}

  Written read() {
    for (std::size_t start = 0; start < source_.text.size();) {
      const std::size_t end = std::min(source_.text.find('\n', start), source_.text.size());
      read_line({.start = start, .end = end});
      start = end + 1;
    }
    close_block();
    if (rows_.empty()) source_.refuse(0, fmt::format("there are no numbers: {}", fit_example));
    return joined();
  }

  /// Whether this line is one that bare rows of numbers do not have.
  static bool is_display_line(std::string_view line) {
    return !heading(line).empty() || is_block_title(line) || line.ends_with('*') || is_note(line);
  }

 private:
  /// "A =" of "A = 1 2"; empty where the line does not begin so.
  static std::string_view heading(std::string_view line) {
    if (line.empty() || !is_letter(line[0])) return {};
    const std::size_t equals = line.find('=');
    if (equals == npos) return {};
    return line.substr(0, equals + 1);
  }

  static bool is_block_title(std::string_view line) { return line.starts_with("Column"); }

  /// Lines that say what kind of matrix it is.
  static bool is_note(std::string_view line) {
    return line == "Diagonal Matrix" || line == "Permutation Matrix" || line.starts_with("[torch.");
  }

  void read_line(const Piece& piece) {
    std::string_view line = trimmed(source_.text.substr(piece.start, piece.end - piece.start));
    if (line.empty() || is_note(line)) return;
    if (is_block_title(line)) return close_block();
    if (const std::string_view head = heading(line); !head.empty()) {
      if (headed_) {
        source_.refuse(piece.start,
                       "a second matrix begins here: keep one matrix, or write them "
                       "as one in nested brackets");
      }
      headed_ = true;
      line = trimmed(line.substr(head.size()));
      if (line.empty()) return;
    }
    if (line.ends_with('*')) return read_factor(line, piece.start);
    read_row(line, piece.start);
  }

  /// "1.0e+03 *": every number that follows is to be taken a thousand times.
  void read_factor(std::string_view line, std::size_t pos) {
    const Numeral factor = read_number(trimmed(line.substr(0, line.size() - 1)), source_, pos);
    const double power = std::round(std::log10(factor.value));
    if (!std::isfinite(power) ||
        parse_numeral(fmt::format("1e{}", static_cast<int>(power))).numeral.value != factor.value) {
      source_.refuse(pos, "a common factor must be a power of ten, such as 1.0e+03 *");
    }
    factor_exponent_ = static_cast<int>(power);
  }

  /// The number times the common factor, exactly: the factor goes into its exponent.
  Numeral scaled(std::string_view token, std::size_t pos) const {
    const Numeral plain = read_number(token, source_, pos);
    const bool has_digits = std::isfinite(plain.value) && !plain.scientific;
    if (factor_exponent_ == 0 || !has_digits) return plain;
    const NumeralResult result = parse_numeral(fmt::format("{}e{}", token, factor_exponent_));
    if (result.fault != NumeralFault::none) source_.refuse(pos, refusal(result.fault, token));
    Numeral numeral = result.numeral;
    numeral.scientific = false;  // the digits of all cells end at the same place
    return numeral;
  }

  void read_row(std::string_view line, std::size_t pos) {
    if (row_ == rows_.size()) {
      if (later_block_) {
        source_.refuse(pos, fmt::format("this block of columns has more than the first's {}: paste "
                                        "all of every block",
                                        counted(rows_.size(), "row")));
      }
      rows_.emplace_back();
      row_places_.push_back(pos);
    }
    constexpr std::string_view breaks = " \t\r,;";
    for (std::size_t start = line.find_first_not_of(breaks); start != npos;) {
      const std::size_t end = std::min(line.find_first_of(breaks, start), line.size());
      rows_[row_].push_back(scaled(line.substr(start, end - start), pos));
      start = line.find_first_not_of(breaks, end);
    }
    ++row_;
  }

  void close_block() {
    if (row_ == 0) return;
    if (row_ < rows_.size()) {
      source_.refuse(
          source_.text.size(),
          fmt::format("a block of columns has {}, the first has {}: paste all of every block",
                      counted(row_, "row"), counted(rows_.size(), "row")));
    }
    row_ = 0;
    later_block_ = true;
  }

  Written joined() const {
    Written written;
    written.shape = {rows_.size(), rows_.front().size()};
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].size() != rows_.front().size()) {
        source_.refuse(row_places_[i],
                       fmt::format("this row has {}, the first has {}: give all the same number",
                                   counted(rows_[i].size(), "number"),
                                   counted(rows_.front().size(), "number")));
      }
      written.cells.insert(written.cells.end(), rows_[i].begin(), rows_[i].end());
    }
    if (written.cells.empty())
      source_.refuse(0, fmt::format("there are no numbers: {}", fit_example));
    return written;
  }

  const Source& source_;
  std::vector<Numerals> rows_ = {};
  std::vector<std::size_t> row_places_ = {};
  std::size_t row_ = 0;  // the next row of this block
  bool later_block_ = false;
  bool headed_ = false;
  int factor_exponent_ = 0;
};

}  // namespace

bool has_display_lines(std::string_view text) {
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    if (DisplayReader::is_display_line(trimmed(text.substr(start, end - start)))) return true;
    start = end + 1;
  }
  return false;
}

Written read_display(const Source& source) { return DisplayReader(source).read(); }

}  // namespace qkv::pasted
