#include "formats/files/file_stem.hpp"

#include <algorithm>
#include <optional>

#include "text/number_in.hpp"

namespace qkv {
namespace {

std::string_view without_number(std::string_view stem) {
  const std::size_t digits = stem.find_first_not_of("0123456789");
  if (digits == 0 || digits == std::string_view::npos) return stem;
  return stem[digits] == '-' || stem[digits] == '_' || stem[digits] == ' ' ? stem.substr(digits + 1)
                                                                           : stem;
}

std::string_view without_blanks(std::string_view text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::string_view without_digits(std::string_view text) {
  return text.substr(0, text.find_last_not_of("0123456789 ") + 1);
}

constexpr std::string_view copies[] = {"copy", "Copy", "COPY", "Kopie", "copie", "copia"};

// "X (1)", "X (copy)", "X (copy 2)"
std::string_view without_brackets(std::string_view text) {
  const std::size_t open = text.rfind('(');
  if (!text.ends_with(')') || open == std::string_view::npos || open == 0) return text;
  const std::string_view inside = text.substr(open + 1, text.size() - open - 2);
  const bool is_copy = number_in<std::size_t>(inside).has_value() ||
                       std::ranges::find(copies, without_digits(inside)) != std::end(copies);
  return is_copy ? without_blanks(text.substr(0, open)) : text;
}

// "X - Copy", "X copy 2"
std::string_view without_word(std::string_view text) {
  const std::string_view unnumbered = without_digits(text);
  for (const std::string_view word : copies) {
    if (!unnumbered.ends_with(word)) continue;
    const std::string_view before = unnumbered.substr(0, unnumbered.size() - word.size());
    const std::size_t end = before.find_last_not_of(" -_");
    if (end == std::string_view::npos || end + 1 == before.size()) continue;
    return before.substr(0, end + 1);
  }
  return text;
}

}  // namespace

std::string_view without_copy(std::string_view text) {
  for (std::string_view last;; text = last) {
    last = without_word(without_brackets(text));
    if (last == text) return text;
  }
}

FileStem file_stem(std::string_view text) {
  FileStem stem;
  text = without_copy(text);
  while (true) {  // places stand last
    const std::size_t dot = text.rfind('.');
    const std::size_t dash = text.rfind('-');
    if (dot == std::string_view::npos || dash == std::string_view::npos || dash < dot) break;
    const auto number = number_in<std::size_t>(text.substr(dash + 1));
    if (!number) break;
    stem.places.insert(stem.places.begin(),
                       {std::string(text.substr(dot + 1, dash - dot - 1)), *number});
    text = text.substr(0, dot);
  }
  text = without_number(text);
  if (text.starts_with("given-")) text.remove_prefix(6);
  stem.name = text;
  return stem;
}

bool is_kept_by_editors(std::string_view name) {
  return name.starts_with('.') || name.starts_with('#') || name.ends_with('~');
}

}  // namespace qkv
