#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace qkv {

/// The number that the whole text is, as a program writes it: "12" or "1e-5", without blanks or a
/// plus. Nothing where it is something else, or has no place in `Number`.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last) return {};
  return number;
}

}  // namespace qkv
