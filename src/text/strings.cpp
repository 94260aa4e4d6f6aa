#include "text/strings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "text/error.hpp"
#include "text/unicode.hpp"

namespace qkv::inline text {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// A number, or the word for one that is not finite.
bool begins_number(std::string_view text) {
  if (text.starts_with('.')) text.remove_prefix(1);
  if (!text.empty() && is_digit(text.front())) return true;
  return text.starts_with("inf") && (text.size() == 3 || !is_letter(text[3]));
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

}  // namespace

std::string replace_all(std::string text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
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
    if (is_sign) {
      result += typeset_minus;
    } else {
      result += text[i];
    }
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

std::string pluralise(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

// what() ends at the first zero byte: a message that quotes one would lose the rest.
InputError::InputError(std::string message)
    : std::runtime_error(replace_all(std::move(message), std::string_view("\0", 1), "\\0")) {}

std::string on_one_line(std::string name) { return replace_all(std::move(name), "\n", "\\n"); }

void refuse(std::string where, std::string_view why) {
  throw InputError((on_one_line(std::move(where)) + ": ").append(why));
}

}  // namespace qkv::inline text
