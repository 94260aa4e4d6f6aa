#include "text/suggest.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <utility>

#include "text/unicode.hpp"

namespace qkv::inline text {
namespace {

/// Returns lower-case code points. Bytes that are not UTF-8 stand for themselves.
std::u32string small_letters(std::string_view name) {
  const std::string text = lowercase(name);
  std::u32string letters;
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = decode_code_point(text, at);
    letters +=
        code == bad_byte ? static_cast<unsigned char>(text[at]) : static_cast<char32_t>(code);
    at += bytes;
  }
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
  std::string found;
  for (const std::string_view name : names) {
    if (small_letters(name).find(wanted) == std::u32string::npos) continue;
    if (!found.empty()) return {};
    found = name;
  }
  return found;
}

}  // namespace

std::string suggest(std::string_view wanted, const NameViews& names) {
  // A file may have thousands of unknown names, megabytes long, and each is compared with all.
  constexpr std::size_t longest = 500, most = 500;
  if (wanted.size() > longest) return {};
  const auto few = std::span(names).first(std::min(most, names.size()));
  const std::u32string letters = small_letters(wanted);
  std::string name = suggest_by_edit_distance(letters, few);
  return name.empty() ? only_name_with(letters, few) : name;
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
  if (names.size() <= most) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{}, … and {} more", fmt::join(std::span(names).first(first), ", "),
                     names.size() - first);
}

}  // namespace qkv::inline text
