#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::inline terminal {

/// Returns the legend of the glyphs, in one line.
std::string_view glyph_legend();

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
std::string_view signed_glyph_legend();

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

/// The range of numbers that the shades of a matrix cover.
struct ShadeScale {
  double largest = 0;  ///< largest finite magnitude
  bool has_negative = false;
};

/// Returns text on a number's shade: white to blue from zero to the largest; with negative numbers,
/// blue below and brown above zero. Infinities are dim.
std::string shaded(std::string_view text, double value, const ShadeScale& scale);

}  // namespace qkv::inline terminal
