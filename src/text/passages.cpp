#include "text/passages.hpp"

#include <algorithm>

#include "text/escape.hpp"

namespace qkv {
namespace {

constexpr std::string_view item_sign = "- ";
constexpr std::string_view code_margin = "    ";

bool is_blank(std::string_view line) { return line.find_first_not_of(' ') == line.npos; }

std::string_view without_blanks(std::string_view line) {
  if (is_blank(line)) return {};
  line.remove_prefix(line.find_first_not_of(' '));
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

std::string joined(const std::vector<std::string>& lines, char between,
                   std::string_view (*part)(std::string_view)) {
  std::string text;
  for (const std::string& line : lines) {
    if (!text.empty()) text += between;
    text += part(line);
  }
  return text;
}

}  // namespace

std::string Passage::on_one_line() const { return joined(lines, ' ', without_blanks); }

std::string Passage::as_written() const {
  return joined(lines, '\n', [](std::string_view line) { return line; });
}

std::vector<Passage> passages_of(std::string_view prose) {
  using Kind = Passage::Kind;
  const std::string safe = visible_prose(prose);
  std::vector<Passage> passages;
  bool apart = true;
  for (std::string_view rest = safe; !rest.empty();) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (is_blank(line)) {
      apart = true;
      continue;
    }
    const bool is_code = line.starts_with(code_margin);
    const bool begins_item = line.starts_with(item_sign);
    const bool goes_on = !apart && !begins_item && is_code == (passages.back().kind == Kind::code);
    if (!goes_on) {
      const Kind kind = is_code ? Kind::code : begins_item ? Kind::item : Kind::paragraph;
      passages.push_back({.kind = kind, .apart = apart && !passages.empty()});
    }
    line.remove_prefix(is_code ? code_margin.size() : begins_item ? item_sign.size() : 0);
    passages.back().lines.emplace_back(line);
    apart = false;
  }
  return passages;
}

std::vector<Passage> with_lead(std::string_view lead, std::vector<Passage> passages) {
  if (!passages.empty() && passages.front().kind == Passage::Kind::paragraph) {
    passages.front().lines.front().insert(0, lead);
  } else {
    passages.insert(passages.begin(), {.lines = {std::string(lead)}});
  }
  return passages;
}

}  // namespace qkv
