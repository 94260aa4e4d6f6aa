#include "terminal/shade.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace qkv {
namespace {

/// Two of xterm's 256 colours with a contrast of 4.5 or more between them.
struct Shade {
  int background, foreground;
};
constexpr int black = 16, white = 231;

/// From zero to the largest number, light to dark, so that it reads without colour vision too.
constexpr std::array<Shade, 7> sequential = {{{231, black},
                                              {195, black},
                                              {153, black},
                                              {111, black},
                                              {32, black},
                                              {25, white},
                                              {18, white}}};

/// From the largest negative number over zero to the largest positive one: blue and brown are told
/// apart by nearly everybody.
constexpr std::array<Shade, 9> diverging = {{{18, white},
                                             {25, white},
                                             {111, black},
                                             {195, black},
                                             {231, black},
                                             {223, black},
                                             {215, black},
                                             {130, white},
                                             {88, white}}};

/// The shade at `place` of a palette, 0 its beginning and 1 its end.
template <std::size_t size>
Shade shade_at(const std::array<Shade, size>& palette, double place) {
  return palette[static_cast<std::size_t>(std::lround(place * static_cast<double>(size - 1)))];
}

Shade shade_of(double value, const ShadeScale& scale) {
  const double part = scale.largest == 0 ? 0 : value / scale.largest;
  return scale.has_negative ? shade_at(diverging, (part + 1) / 2) : shade_at(sequential, part);
}

}  // namespace

std::string shaded(std::string_view text, double value, const ShadeScale& scale) {
  if (!std::isfinite(value)) return fmt::format("{}{}{}", sgr::dim, text, sgr::reset);
  const Shade shade = shade_of(value, scale);
  return fmt::format("\x1b[48;5;{};38;5;{}m{}{}", shade.background, shade.foreground, text,
                     sgr::reset);
}

}  // namespace qkv
