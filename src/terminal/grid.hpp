#pragma once

#include "exposition/selection.hpp"
#include "text/number.hpp"

namespace qkv::inline terminal {

/// Splits a text into lines, each of which ends in a line break.
std::vector<std::string> lines_of(std::string_view text);

/// Returns the lines as text, each behind so many blanks unless it is empty.
std::string indented_lines(const std::vector<std::string>& lines, std::size_t blanks = 2);

/// Returns the lines as text, the first behind `head`, the others behind so many blanks.
std::string hanging_lines(std::string head, const std::vector<std::string>& lines,
                          std::size_t blanks);

/// Returns the display width of a line, without colour codes.
std::size_t display_width(std::string_view line);

/// Returns the largest display width of the lines.
std::size_t max_width(const std::vector<std::string>& lines);

/// Places blocks of lines side by side while they fit in `columns`, then below, after an empty
/// line. `gap` blanks separate them; no line ends in a blank.
std::vector<std::string> side_by_side(const std::vector<std::vector<std::string>>& blocks,
                                      std::size_t gap, std::size_t columns);

/// Returns the index just past the colour code that starts at `at`.
std::size_t end_of_escape(std::string_view line, std::size_t at);

/// Wraps a line of arithmetic at its operators to `columns`; cell names stay whole.
std::vector<std::string> wrapped_arithmetic(std::string_view line, std::size_t columns);

/// The legends of the glyphs of weights, and of other numbers.
inline constexpr std::string_view glyph_legend =
    "dots: ● from 0.3, • from 0.05, · below that, blank for exactly 0";
inline constexpr std::string_view signed_glyph_legend =
    "dots: ● • · above zero, ○ ◦ - below it, by thirds of the largest; blank for exactly 0, × if "
    "infinite";

/// A weight matrix with one glyph per weight, larger for larger weights: `│● ·  │` for each row,
/// all equally wide. The header has the columns' first letters, or the last digits of their numbers
/// if two columns share a letter or have none.
struct PatternGlyphs {
  std::string header;
  std::vector<std::string> rows;
};

/// Returns the glyphs of a row-major weight matrix; exactly 0 is blank. It has no rows if a number
/// is outside [0, 1], or if there are more than 32 rows or columns.
PatternGlyphs glyphs(std::size_t rows, std::size_t columns, std::span<const double> weights,
                     const std::vector<std::string>& column_labels = {});

/// Returns glyphs that grow with a number's magnitude, filled above zero and hollow below. The
/// result has no rows if there are more than 32 rows or columns.
PatternGlyphs signed_glyphs(std::size_t rows, std::size_t columns, std::span<const double> values,
                            const std::vector<std::string>& column_labels = {});

/// Appends the header and the glyph rows to a grid's lines; empty if they do not match or fit.
std::string glyphs_beside(const std::string& grid, const PatternGlyphs& glyphs, std::size_t width);

/// Returns the glyphs alone, with a label before each row; a missing label is its index from 1.
std::string glyphs_below(const PatternGlyphs& glyphs, const std::vector<std::string>& row_labels);

namespace sgr {
inline constexpr std::string_view reset = "\x1b[0m";
inline constexpr std::string_view bold = "\x1b[1m";
inline constexpr std::string_view dim = "\x1b[2m";
inline constexpr std::string_view reversed = "\x1b[7m";
}  // namespace sgr

/// Returns the numbers of a row; for a large matrix, called only for shown rows.
using RowAt = std::function<std::span<const double>(std::size_t row)>;

/// Number format and colour range of a matrix: from all of its numbers or, if it is large, from the
/// shown ones. Compute it once for several views of a large matrix, so that all look the same.
struct NumberFormat {
  NumberStyle style = {};
  double largest = 0;  ///< largest finite magnitude
  bool has_negative = false;
};
NumberFormat number_format_of(std::span<const double> values, int digits);

/// Returns text on a number's shade: white to blue from zero to the largest; with negative numbers,
/// blue below and brown above zero. Infinities are dim.
std::string shaded(std::string_view text, double value, const NumberFormat& format);

/// Highlight of a cell. Each has its own signs around the number, not only a colour.
enum class Highlight {
  none,
  changed,  ///< `*0.25`
  used,     ///< `(0.25)`
  picked,   ///< `[0.25]`
};

/// A cell of a displayed matrix.
struct GridCell {
  std::size_t row = 0, column = 0;
  auto operator<=>(const GridCell&) const = default;
};

/// Options of a grid.
struct GridStyle {
  std::size_t width = 80;     ///< columns of the terminal
  int digits = 4;             ///< decimals of a number that is not an integer
  bool colour = false;        ///< shade each number by its size
  std::size_t max_rows = 24;  ///< lines of numbers; larger matrices lose their middle rows
  std::optional<GridCell> focus =
      {};  ///< it is visible, with consecutive rows and columns around it
  std::function<Highlight(std::size_t row, std::size_t column)> highlight =
      {};                                 ///< none where empty
  const NumberFormat* measure = nullptr;  ///< of these values and digits; nullptr: computed here
};

/// A matrix as lines of text, and the rows and columns shown.
struct Grid {
  std::string text;  ///< whole lines, each with its line break
  Selection rows = {}, columns = {};
};

/// Returns a label shortened to `columns`. A missing or empty one is its index from 1, which is
/// never shortened: "1…" would be another row.
std::string fitted_label(const std::vector<std::string>& labels, std::size_t index,
                         std::size_t columns);

/// Formats a row-major matrix of `rows` × `columns` with aligned decimal points. If it is too wide,
/// the first and last columns show around a `…`; if too long, the first and last rows around a `⋮`.
/// Only shown numbers are formatted, so size costs nothing. With a focus, only the cells around it
/// show. With colour, white to blue shows a number's size; with negative numbers, blue is below and
/// brown above zero. Labels need not be sanitised; a missing or empty one is its index from 1.
///
///       cat  fat
///     1   2    0
///     2   0   -1
Grid grid(std::size_t rows, std::size_t columns, const RowAt& row_at, const MatrixLabels& labels,
          const GridStyle& look);

/// Formats values in memory. Throws std::logic_error if their number does not match.
Grid grid(std::size_t rows, std::size_t columns, std::span<const double> values,
          const MatrixLabels& labels, const GridStyle& look);

}  // namespace qkv::inline terminal
