#include "text/typeset.hpp"

#include <algorithm>

namespace qkv {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A number, or the word for one that is not finite.
bool begins_number(std::string_view text) {
  if (text.starts_with('.')) text.remove_prefix(1);
  if (!text.empty() && is_digit(text.front())) return true;
  return text.starts_with("inf") && (text.size() == 3 || !is_letter(text[3]));
}

// What a sign may follow: the beginning, a blank, an opening bracket, a sign of mathematics.
bool may_precede_sign(std::string_view before) {
  if (before.empty() || std::string_view(" \n\t([{^|,:<>").find(before.back()) != before.npos) {
    return true;
  }
  constexpr std::string_view signs[] = {"·", "×", "→", "√", "≈", "≤", "≥", "−", "…", "“", "\u00a0"};
  return std::ranges::any_of(signs, [&](std::string_view sign) { return before.ends_with(sign); });
}

}  // namespace

std::string with_minus_signs(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_sign =
        text[i] == '-' && may_precede_sign(text.substr(0, i)) && begins_number(text.substr(i + 1));
    if (is_sign) {
      result += typeset_minus;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace qkv
