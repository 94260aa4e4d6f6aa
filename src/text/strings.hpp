#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::inline text {

/// `text` without the blanks at both ends: spaces, tabs and line breaks, unless told otherwise.
constexpr std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n") {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// "1 layer", "12 layers".
std::string pluralise(std::size_t count, std::string_view thing);

/// The sign of a negative number where it is printed: as wide as a plus, and no line ends after it.
inline constexpr std::string_view typeset_minus = "\u2212";

/// Text with minus signs in place of the hyphens that stand before numbers. Hyphens between words,
/// in ranges, exponents and options stay, and so does what follows a "=": commands are to be typed.
/// Example: `with_minus_signs("from -0.5 to -inf, 2-3, --set 'X[1,1]=-1'")` is
/// `from −0.5 to −inf, 2-3, --set 'X[1,1]=-1'`.
std::string with_minus_signs(std::string_view text);

/// A word as a shell reads it: in quotes where it would be taken apart. Example: `it's` is
/// `'it'\''s'`.
std::string shell_word(const std::string& word);

/// Names in the order in which they came. Each is found as quickly among ten thousand as among ten:
/// a lesson may have that many steps, and every one of them looks for its operands.
class NameIndex {
 public:
  /// Appends a name; the first of two equal ones is the one that is found.
  void add(std::string name);
  /// Its place in the order, from 0; nothing where it never came.
  std::optional<std::size_t> place(std::string_view name) const;
  bool contains(std::string_view name) const { return places_.contains(name); }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::vector<std::string> all_;
  std::map<std::string, std::size_t, std::less<>> places_;
};

}  // namespace qkv::inline text
