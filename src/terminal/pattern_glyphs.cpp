#include "terminal/grid.hpp"

#include <cctype>

#include "tensor/matmul.hpp"
#include "tokens/tokens.hpp"

namespace qkv::inline terminal {
namespace {

/// Backgrounds of xterm's 256 colours, from zero to the largest number, light to dark.
constexpr std::array sequential = {231, 195, 153, 111, 32, 25, 18};

/// From the largest negative number over zero to the largest positive one, blue to brown.
constexpr std::array diverging = {18, 25, 111, 195, 231, 223, 215, 130, 88};

/// White text has a contrast of at least 4.5 on these; black text on the others.
constexpr std::array dark = {18, 25, 88, 130};
constexpr int black = 16, white = 231;

/// The shade at `place` of a palette, from 0 to 1.
template <std::size_t size>
int shade_at(const std::array<int, size>& palette, double place) {
  return palette[static_cast<std::size_t>(std::lround(place * static_cast<double>(size - 1)))];
}

constexpr std::size_t most = 32;  // rows or columns
constexpr std::size_t left_edge = 2;
constexpr std::size_t column_gap = 3;
constexpr std::size_t max_glyph_label = 30;
constexpr double slack = 1e-9;  // a sum of weights may exceed 1 by rounding

// The smallest weight of each glyph. A third of the weight gets the largest one, an even share
// among twenty the middle one.
constexpr std::pair<double, std::string_view> glyph_sizes[] = {{0.3, "●"}, {0.05, "•"}, {0, "·"}};

std::string_view glyph_of(double weight) {
  if (weight == 0) return " ";
  const auto is_large_enough = [&](const auto& size) { return weight >= size.first; };
  return std::ranges::find_if(glyph_sizes, is_large_enough)->second;
}

// In thirds of the matrix's largest number.
std::string_view signed_glyph_of(double value, double largest) {
  if (value == 0) return " ";
  if (!std::isfinite(value)) return "×";
  constexpr std::string_view above[] = {"·", "•", "●"};
  constexpr std::string_view below[] = {"-", "◦", "○"};
  const auto third =
      std::min<std::size_t>(2, static_cast<std::size_t>(3 * std::abs(value) / largest));
  return value > 0 ? above[third] : below[third];
}

std::string first_letter(const std::string& label) {
  return label.empty() ? "" : std::string(characters_of(sanitise_label(label)).front());
}

// Letters identify columns if different words have different letters: "t t t t" and "<" do not.
bool are_distinguishable(const std::vector<std::string>& labels) {
  std::map<std::string, std::string> words;  // by their first letters
  return std::ranges::all_of(labels, [&](const std::string& label) {
    const std::string letter = first_letter(label);
    const bool is_mark = letter.size() == 1 && std::ispunct(static_cast<unsigned char>(letter[0]));
    return !letter.empty() && !is_mark && words.try_emplace(letter, label).first->second == label;
  });
}

// The columns' first letters or, if they do not identify columns, the last digits of their numbers.
std::string header_of(const std::vector<std::string>& labels, std::size_t columns) {
  const bool letters_are_distinct = labels.size() == columns && are_distinguishable(labels);
  std::string header;
  for (std::size_t j = 0; j < columns; ++j) {
    const std::string letter =
        letters_are_distinct ? first_letter(labels[j]) : std::to_string((j + 1) % 10);
    header += padded_right(width(letter) > 2 ? "" : letter, 2);  // a glyph has two columns
  }
  return " " + header.substr(0, header.find_last_not_of(' ') + 1);
}

template <class GlyphOf>
PatternGlyphs drawn_glyphs(std::size_t rows, std::size_t columns, std::span<const double> values,
                           const std::vector<std::string>& column_labels, GlyphOf glyph) {
  if (rows > most || columns > most || values.empty()) return {};
  PatternGlyphs result{.header = header_of(column_labels, columns), .rows = {}};
  for (std::size_t i = 0; i < rows; ++i) {
    std::string row = "│";
    for (std::size_t j = 0; j < columns; ++j) {
      row.append(j == 0 ? "" : " ").append(glyph(values[i * columns + j]));
    }
    result.rows.push_back(row + "│");
  }
  return result;
}

void put(std::string& text, std::size_t blanks, std::string_view what) {
  if (!what.empty()) text.append(blanks, ' ').append(what);
  text += '\n';
}

}  // namespace

std::string shaded(std::string_view text, double value, const NumberFormat& format) {
  if (!std::isfinite(value)) return fmt::format("{}{}{}", sgr::dim, text, sgr::reset);
  const double part = format.largest == 0 ? 0 : value / format.largest;
  const int shade =
      format.has_negative ? shade_at(diverging, (part + 1) / 2) : shade_at(sequential, part);
  const int foreground = contains(dark, shade) ? white : black;
  return fmt::format("\x1b[48;5;{};38;5;{}m{}{}", shade, foreground, text, sgr::reset);
}

PatternGlyphs glyphs(std::size_t rows, std::size_t columns, std::span<const double> weights,
                     const std::vector<std::string>& column_labels) {
  const auto is_weight = [](double w) { return w >= 0 && w <= 1 + slack; };
  if (!std::ranges::all_of(weights, is_weight)) return {};
  return drawn_glyphs(rows, columns, weights, column_labels, glyph_of);
}

PatternGlyphs signed_glyphs(std::size_t rows, std::size_t columns, std::span<const double> values,
                            const std::vector<std::string>& column_labels) {
  const double largest = largest_magnitude(values);
  return drawn_glyphs(rows, columns, values, column_labels,
                      [largest](double x) { return signed_glyph_of(x, largest); });
}

std::string glyphs_beside(const std::string& grid, const PatternGlyphs& glyphs, std::size_t width) {
  const std::vector<std::string> lines = lines_of(grid);
  if (glyphs.rows.empty() || lines.size() != glyphs.rows.size() + 1) return {};
  const std::size_t widest = max_width(lines);
  const std::size_t beside = std::max(qkv::width(glyphs.header), qkv::width(glyphs.rows.front()));
  if (widest + column_gap + beside > width) return {};
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text += lines[i];
    put(text, widest - display_width(lines[i]) + column_gap,
        i == 0 ? glyphs.header : glyphs.rows[i - 1]);
  }
  return text;
}

std::string glyphs_below(const PatternGlyphs& glyphs, const std::vector<std::string>& row_labels) {
  const auto labels = mapped_places(glyphs.rows.size(), [&](std::size_t i) {
    return fitted_label(row_labels, i, max_glyph_label);
  });
  const std::size_t widest = max_width(labels);
  std::string text;
  put(text, left_edge + widest + column_gap, glyphs.header);
  for (std::size_t i = 0; i < glyphs.rows.size(); ++i) {
    text.append(left_edge, ' ').append(padded_right(labels[i], widest));
    put(text, column_gap, glyphs.rows[i]);
  }
  return text;
}

}  // namespace qkv::inline terminal
