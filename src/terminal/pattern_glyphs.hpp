#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::inline terminal {

/// What the dots mean, in one line.
std::string_view glyph_legend();

/// A matrix of weights as dots that grow with the weight: `│● ·  │` for each row, all of the same
/// width, and a header that stands over them: the columns' first letters, or the last digits of
/// their numbers where two of the columns' words begin alike.
struct PatternGlyphs {
  std::string header;  ///< empty where the columns have no labels
  std::vector<std::string> rows;
};

/// The dots of one row-major matrix. A weight of exactly 0 is blank. Without rows where dots would
/// say nothing: a number outside 0 to 1, or more than 32 rows or columns.
PatternGlyphs glyphs(std::size_t rows, std::size_t columns, std::span<const double> weights,
                     const std::vector<std::string>& column_labels = {});

/// Any matrix as dots that grow with the size of the number, filled above zero and hollow below.
/// Without rows where there are more than 32 rows or columns.
PatternGlyphs signed_glyphs(std::size_t rows, std::size_t columns, std::span<const double> values,
                            const std::vector<std::string>& column_labels = {});
std::string_view signed_glyph_legend();

/// The dots to the right of a grid's lines: its header, then one line for each row. Empty where
/// there are other lines than these, or no room in `width` columns.
std::string glyphs_beside(const std::string& grid, const PatternGlyphs& glyphs, std::size_t width);

/// The dots by themselves, a label before each row; where a label is missing, its index from 1.
std::string glyphs_below(const PatternGlyphs& glyphs, const std::vector<std::string>& row_labels);

namespace sgr {
inline constexpr std::string_view reset = "\x1b[0m";
inline constexpr std::string_view bold = "\x1b[1m";
inline constexpr std::string_view dim = "\x1b[2m";
inline constexpr std::string_view reversed = "\x1b[7m";
}  // namespace sgr

/// What the shades of one matrix stand for.
struct ShadeScale {
  double largest = 0;  ///< magnitude of a finite number
  bool has_negative = false;
};

/// Text on the shade of a number: white to blue from zero to the largest; where there are negative
/// numbers, blue is below and brown above zero. What is infinite is dim.
std::string shaded(std::string_view text, double value, const ShadeScale& scale);

}  // namespace qkv::inline terminal
