#include "terminal/grid.hpp"

#include "text/unicode.hpp"

namespace qkv::inline terminal {
namespace {

// Allows breaks after the sign in a product of cells that is longer than a line.
std::string with_breaks(const std::string& held, std::size_t columns) {
  std::string text;
  for (const std::string_view word : split(held, ' ')) {
    text += width(word) > columns ? replace_all(word, "·", "· ") : std::string(word);
    text += ' ';
  }
  text.pop_back();  // behind the last word
  return text;
}

// The line without colour codes.
std::string strip_colour(std::string_view line) {
  std::string text;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t escape = std::min(line.find('\x1b', at), line.size());
    text += line.substr(at, escape - at);
    at = escape < line.size() ? end_of_escape(line, escape) : escape;
  }
  return text;
}

}  // namespace

std::vector<std::string> wrapped_arithmetic(std::string_view line, std::size_t columns) {
  // Lines don't end inside a cell's name, short brackets or "508 more …".
  constexpr std::size_t short_brackets = 24;
  std::string held;
  int depth = 0;
  std::size_t closing = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    const std::size_t next = c == '(' ? line.find_first_of("()", i + 1) : line.npos;
    if (next <= i + short_brackets && line[next] == ')') closing = next;
    const bool is_held = c == ' ' && (depth > 0 || i < closing);
    held += is_held ? std::string(no_break_space) : std::string(1, c);
  }
  held = replace_all(held, " more …", "\u00a0more\u00a0…");
  std::vector<std::string> lines = wrapped(with_breaks(held, columns), columns);
  for (std::string& piece : lines) piece = with_plain_blanks(piece);
  return lines;
}

std::vector<std::string> lines_of(std::string_view text) {
  if (text.empty()) return {};
  if (text.ends_with('\n')) text.remove_suffix(1);
  const std::vector<std::string_view> lines = split(text, '\n');
  return {lines.begin(), lines.end()};
}

std::string indented_lines(const std::vector<std::string>& lines, std::size_t blanks) {
  std::string text;
  for (const std::string& line : lines) {
    text.append(line.empty() ? 0 : blanks, ' ').append(line) += '\n';
  }
  return text;
}

std::string hanging_lines(std::string head, const std::vector<std::string>& lines,
                          std::size_t blanks) {
  std::string text;
  for (const std::string& line : lines) {
    text.append(head).append(line) += '\n';
    head.assign(blanks, ' ');
  }
  return text;
}

std::size_t display_width(std::string_view line) { return width(strip_colour(line)); }

std::size_t max_width(const std::vector<std::string>& lines) {
  std::size_t widest = 0;
  for (const std::string& line : lines) widest = std::max(widest, display_width(line));
  return widest;
}

std::vector<std::string> side_by_side(const std::vector<std::vector<std::string>>& blocks,
                                      std::size_t gap, std::size_t columns) {
  std::vector<std::string> lines;
  std::size_t top = 0, used = 0;  // the current row's first line and width
  for (const std::vector<std::string>& block : blocks) {
    const std::size_t widest = max_width(block);
    if (used > 0 && used + gap + widest > columns) {
      lines.emplace_back();
      top = lines.size();
      used = 0;
    }
    const std::size_t left = used + (used > 0 ? gap : 0);
    lines.resize(std::max(lines.size(), top + block.size()));
    for (std::size_t i = 0; i < block.size(); ++i) {
      std::string& line = lines[top + i];
      line.append(left - display_width(line), ' ').append(block[i]);
      line.erase(line.find_last_not_of(' ') + 1);
    }
    used = left + widest;
  }
  return lines;
}

std::size_t end_of_escape(std::string_view line, std::size_t at) {
  const std::size_t end = line.find('m', at);
  return end == std::string_view::npos ? line.size() : end + 1;
}

}  // namespace qkv::inline terminal
