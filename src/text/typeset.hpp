#pragma once

#include <string>
#include <string_view>

namespace qkv {

/// The sign of a negative number where it is printed: as wide as a plus, and no line ends after it.
inline constexpr std::string_view typeset_minus = "\u2212";

/// Text with minus signs in place of the hyphens that stand before numbers. Hyphens between words,
/// in ranges, exponents and options stay, and so does what follows a "=": commands are to be typed.
/// Example: `with_minus_signs("from -0.5 to -inf, 2-3, --set 'X[1,1]=-1'")` is
/// `from −0.5 to −inf, 2-3, --set 'X[1,1]=-1'`.
std::string with_minus_signs(std::string_view text);

}  // namespace qkv
