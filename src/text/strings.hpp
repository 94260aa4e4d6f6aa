#pragma once

#include <stdexcept>

#include "text/prelude.hpp"

namespace qkv::inline text {

/// Invalid input from outside. Its message says in one line what is wrong, where, and what to write
/// instead. main prints it on stderr and exits with status 2.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::string_view message);

  /// Several faults, each on a line of its own.
  explicit InputError(const std::vector<std::string>& faults);

  template <class First, class... Rest>
  explicit InputError(fmt::format_string<First, Rest...> message, First&& first, Rest&&... rest)
      : InputError(fmt::vformat(message, fmt::make_format_args(first, rest...))) {}
};

/// Returns a text with its line breaks written as \n, since each line on stderr is a message of its
/// own, and its zero bytes as \0.
std::string on_one_line(std::string_view name);

/// Returns a key that sorts names as people do, layer 2 before layer 10: each number has its length
/// before it.
std::string sort_key(std::string_view name);

/// Throws InputError: `where`, a file or a place in it, then why it is refused.
[[noreturn]] void refuse(std::string where, std::string_view why);

/// The same, with a reason to be formatted.
template <class First, class... Rest>
[[noreturn]] void refuse(std::string where, fmt::format_string<First, Rest...> why, First&& first,
                         Rest&&... rest) {
  refuse(std::move(where), fmt::vformat(why, fmt::make_format_args(first, rest...)));
}

/// Returns `text` without `blanks` at both ends.
constexpr std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n") {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Returns `text` without the byte order mark with which some programs begin UTF-8.
constexpr std::string_view without_byte_order_mark(std::string_view text) {
  return text.substr(text.starts_with("\xEF\xBB\xBF") ? 3 : 0);
}

/// Returns `text` with every `what` replaced by `by`.
std::string replace_all(std::string_view text, std::string_view what, std::string_view by);

/// Returns the parts between separators; of a text without one, the text.
std::vector<std::string_view> split(std::string_view text, char separator);

/// True if the name matches a pattern, in which * stands for any text.
bool matches(std::string_view pattern, std::string_view name);

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

/// Names in any container of strings, to which it refers.
struct NameViews : std::vector<std::string_view> {
  template <class Names>
  NameViews(const Names& names) : vector(std::begin(names), std::end(names)) {}  // NOLINT: implicit
  /// The names that `name` returns of each item: `NameViews(recipe.steps, &StepRecipe::name)`.
  template <class Items, class Name>
  NameViews(const Items& items, Name name) {
    add(items, name);
  }

  template <class Items, class Name>
  void add(const Items& items, Name name) {
    for (const auto& item : items) push_back(std::invoke(name, item));
  }
};

/// Returns the known name that `wanted` probably means, or an empty string. It is equal but for
/// capitals, about one edit per three characters away, or the only name that contains `wanted`, or
/// a word so near to it. An edit is a wrong, missing or extra letter, or two swapped. Searches the
/// first 500 names, and only for up to 500 bytes. Example: among "softmax" and "score", "sofmtax"
/// means "softmax".
std::string suggest(std::string_view wanted, const NameViews& names);

/// Returns the remedy for an unknown name: `did you mean "softmax"?`. If no name is close, returns
/// `otherwise`, or by default `there are softmax, score`.
std::string did_you_mean(std::string_view wanted, const NameViews& names,
                         std::string_view otherwise = {});

/// Joins names with commas. Of more than 24 it lists 16 and the number of the rest.
std::string abbreviated_list(const NameViews& names);

}  // namespace qkv::inline text
