#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::inline text {

/// Returns `text` without `blanks` at both ends.
constexpr std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n") {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Returns `text` with every `what` replaced by `by`.
std::string replace_all(std::string text, std::string_view what, std::string_view by);

/// Returns the parts between separators; of a text without one, the text.
std::vector<std::string_view> split(std::string_view text, char separator);

/// "1 layer", "12 layers".
std::string pluralise(std::size_t count, std::string_view thing);

/// The minus sign in printed text: as wide as a plus, and no line breaks after it.
inline constexpr std::string_view typeset_minus = "\u2212";

/// Returns text with minus signs for the hyphens that stand before numbers. Hyphens in words,
/// ranges, exponents and options stay, and so do those after a "=": commands are to be typed.
/// Example: `with_minus_signs("from -0.5 to -inf, 2-3, --set 'X[1,1]=-1'")` is
/// `from −0.5 to −inf, 2-3, --set 'X[1,1]=-1'`.
std::string with_minus_signs(std::string_view text);

/// Returns a word quoted for a shell, if it needs quotes. Example: `it's` is `'it'\''s'`.
std::string shell_word(const std::string& word);

/// Names in the order in which they were added, with a fast lookup: a lesson may have ten thousand
/// steps, each of which looks up its operands.
class NameIndex {
 public:
  /// Appends a name. Of two equal names the first is found.
  void add(std::string name);
  /// Returns the position of a name, from 0; nothing if it was not added.
  std::optional<std::size_t> place(std::string_view name) const;
  bool contains(std::string_view name) const { return places_.contains(name); }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::vector<std::string> all_;
  std::map<std::string, std::size_t, std::less<>> places_;
};

}  // namespace qkv::inline text
