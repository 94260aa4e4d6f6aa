#include "text/strings.hpp"

#include <fnmatch.h>

#include <cctype>

#include "text/unicode.hpp"

namespace qkv::inline text {
namespace {

// A number, or the word for one that is not finite.
bool begins_number(std::string_view text) {
  if (text.starts_with('.')) text.remove_prefix(1);
  if (!text.empty() && is_digit(text.front())) return true;
  return text.starts_with("inf") &&
         (text.size() == 3 || !std::isalpha(static_cast<unsigned char>(text[3])));
}

// A sign may follow the beginning, a blank, an opening bracket or a mathematical sign.
bool may_precede_sign(std::string_view before) {
  if (before.empty() || std::string_view(" \n\t([{^|,:<>").find(before.back()) != before.npos) {
    return true;
  }
  constexpr std::string_view signs[] = {"·", "×", "→", "√", "≈", "≤", "≥", "−", "…", "“", "\u00a0"};
  return std::ranges::any_of(signs, [&](std::string_view sign) { return before.ends_with(sign); });
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

// bash, zsh and ksh know $'…', in which a line break can be written on one line.
std::string escaped(std::string_view word) {
  std::string text = "$'";
  for (const char c : word) {
    if (is_control(c)) {
      text += c == '\n' ? "\\n" : fmt::format("\\{:03o}", static_cast<unsigned>(c));
    } else {
      if (c == '\'' || c == '\\') text += '\\';
      text += c;
    }
  }
  return text + "'";
}

/// Returns lower-case code points. Bytes that are not UTF-8 stand for themselves.
std::u32string small_letters(std::string_view name) {
  std::u32string letters;
  each_code_point(lowercase(name), [&](CodePoint code, std::string_view bytes) {
    letters +=
        code == bad_byte ? static_cast<unsigned char>(bytes[0]) : static_cast<char32_t>(code);
  });
  return letters;
}

/// Returns the Damerau-Levenshtein distance: letters wrong, missing, extra, or swapped with the
/// next one; `most + 1` if it exceeds `most`. Keeps three rows of the table, since a swap looks
/// back two, and of each row only the cells near the diagonal.
std::size_t edit_distance(const std::u32string& a, const std::u32string& b, std::size_t most) {
  const std::size_t too_many = most + 1;
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1, too_many);
  for (std::size_t j = 0; j <= std::min(b.size(), most); ++j) now[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, now);
    const std::size_t first = i > most ? i - most : 1;
    const std::size_t end = std::min(b.size(), i + most);
    now[first - 1] = first == 1 ? std::min(i, too_many) : too_many;
    for (std::size_t j = first; j <= end; ++j) {
      const std::size_t wrong = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      now[j] = std::min({wrong, last[j] + 1, now[j - 1] + 1, too_many});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    if (end < b.size()) now[end + 1] = too_many;
  }
  return now[b.size()];
}

std::string suggest_by_edit_distance(const std::u32string& wanted,
                                     std::span<const std::string_view> names) {
  std::string_view best;
  std::size_t fewest = 0;
  for (const std::string_view name : names) {
    if (name.size() > 4 * (wanted.size() + 3)) continue;  // a letter has four bytes at most
    const std::u32string letters = small_letters(name);
    const std::size_t longer = std::max(wanted.size(), letters.size());
    const std::size_t shorter = std::min(wanted.size(), letters.size());
    const std::size_t allowed = std::min<std::size_t>((longer + 1) / 3, 3);
    if (longer - shorter > allowed) continue;
    const std::size_t slips = edit_distance(wanted, letters, allowed);
    if (slips > allowed || (!best.empty() && slips >= fewest)) continue;
    best = name;
    fewest = slips;
  }
  return std::string(best);
}

/// Finds "attention_weights" for "weights" if no other name contains it.
std::string only_name_with(const std::u32string& wanted, std::span<const std::string_view> names) {
  if (wanted.size() < 3) return {};
  const auto found = filtered(names, [&](std::string_view name) {
    return small_letters(name).find(wanted) != std::u32string::npos;
  });
  return found.size() == 1 ? std::string(found.front()) : std::string();
}

}  // namespace

std::string replace_all(std::string_view text, std::string_view what, std::string_view by) {
  std::string result;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what)) {
    result.append(text.substr(0, at)).append(by);
    text.remove_prefix(at + what.size());
  }
  return result.append(text);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != text.npos; text.remove_prefix(std::min(end, text.size()))) {
    end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end != text.npos) ++end;
  }
  return parts;
}

std::string with_minus_signs(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_sign =
        text[i] == '-' && may_precede_sign(text.substr(0, i)) && begins_number(text.substr(i + 1));
    result += is_sign ? typeset_minus : text.substr(i, 1);
  }
  return result;
}

std::string shell_word(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  if (std::ranges::any_of(word, is_control)) return escaped(word);
  return "'" + replace_all(word, "'", "'\\''") + "'";
}

void NameIndex::add(std::string name) {
  places_.try_emplace(name, all_.size());
  all_.push_back(std::move(name));
}

std::optional<std::size_t> NameIndex::place(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? std::nullopt : std::optional(found->second);
}

bool matches(std::string_view pattern, std::string_view name) {
  return fnmatch(std::string(pattern).c_str(), std::string(name).c_str(), FNM_NOESCAPE) == 0;
}

std::string pluralise(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

InputError::InputError(std::string_view message) : std::runtime_error(on_one_line(message)) {}

InputError::InputError(const std::vector<std::string>& faults)
    : std::runtime_error(fmt::format("{}", fmt::join(mapped(faults, on_one_line), "\n"))) {}

// what() ends at the first zero byte: a message that quotes one would lose the rest.
std::string on_one_line(std::string_view name) {
  return replace_all(replace_all(name, "\n", "\\n"), std::string_view("\0", 1), "\\0");
}

std::string sort_key(std::string_view name) {
  std::string key;
  while (!name.empty()) {
    const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    if (digits > 0) key += static_cast<char>('0' + std::min<std::size_t>(digits, 9));
    const std::size_t size = std::max<std::size_t>(digits, 1);
    key += name.substr(0, size);
    name.remove_prefix(size);
  }
  return key;
}

void refuse(std::string where, std::string_view why) {
  throw InputError((where + ": ").append(why));
}

std::string suggest(std::string_view wanted, const NameViews& names) {
  // A file may have thousands of unknown names, megabytes long, and each is compared with all.
  constexpr std::size_t longest = 500, most = 500;
  if (wanted.size() > longest) return {};
  const auto few = std::span(names).first(std::min(most, names.size()));
  const std::u32string letters = small_letters(wanted);
  std::string name = suggest_by_edit_distance(letters, few);
  if (name.empty()) name = only_name_with(letters, few);
  if (!name.empty()) return name;
  std::vector<std::string_view> words;
  for (const std::string_view one : few) std::ranges::copy(split(one, '_'), back_inserter(words));
  return only_name_with(small_letters(suggest_by_edit_distance(letters, words)), few);
}

std::string did_you_mean(std::string_view wanted, const NameViews& names,
                         std::string_view otherwise) {
  const std::string near = suggest(wanted, names);
  if (!near.empty()) return fmt::format("did you mean \"{}\"?", near);
  return otherwise.empty() ? fmt::format("there are {}", fmt::join(names, ", "))
                           : std::string(otherwise);
}

std::string abbreviated_list(const NameViews& names) {
  constexpr std::size_t most = 24, first = 16;
  const std::size_t count = names.size() <= most ? names.size() : first;
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + sanitise(names[i]);
  return count == names.size() ? text
                               : fmt::format("{}, … and {} more", text, names.size() - count);
}

}  // namespace qkv::inline text
