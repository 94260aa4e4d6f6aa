#include "interactive/frame.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "terminal/lines.hpp"
#include "terminal/wrapped_arithmetic.hpp"
#include "text/width.hpp"

namespace qkv {
namespace {

// Terminals that know synchronised updates show the frame at once; the others skip what they don't
// know.
constexpr std::string_view begin_update = "\x1b[?2026h";
constexpr std::string_view end_update = "\x1b[?2026l";
constexpr std::string_view hide_cursor = "\x1b[?25l";
constexpr std::string_view show_cursor = "\x1b[?25h";
constexpr std::string_view reset = "\x1b[0m";

}  // namespace

std::vector<std::string> broken(std::string_view text, std::size_t columns) {
  std::vector<std::string> lines;
  for (const std::string& line : lines_of(text)) {
    for (std::string& piece : wrapped_arithmetic(line, columns)) lines.push_back(std::move(piece));
  }
  return lines;
}

std::vector<std::string> page_lines(std::string_view text, std::size_t columns) {
  constexpr std::size_t fewest = 12;  // columns that are worth it
  std::vector<std::string> lines;
  for (std::string& line : lines_of(text)) {
    const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
    const bool fits = shown_width(line) <= columns || line.find('\x1b') != std::string::npos;
    if (fits || columns < indent + fewest) {
      lines.push_back(std::move(line));
      continue;
    }
    std::size_t in = indent;
    for (const std::string& piece : broken(line.substr(indent), columns - indent - 2)) {
      lines.push_back(std::string(in, ' ') + piece);
      in = indent + 2;
    }
  }
  return lines;
}

std::string fitted(std::string_view line, std::size_t columns) {
  if (shown_width(line) <= columns) return std::string(line);
  if (line.find('\x1b') == std::string_view::npos) return shortened(line, columns);
  std::string text;
  std::size_t used = 0;
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == '\x1b') {
      const std::size_t end = after_sequence(line, at);
      text += line.substr(at, end - at);
      at = end;
      continue;
    }
    const std::size_t end = std::min(line.find('\x1b', at), line.size());
    const std::string_view words = line.substr(at, end - at);
    if (used + width(words) >= columns) {
      // Room for the … is kept: what follows is cut in any case.
      text += shortened(std::string(words) + "……", columns - used);
      break;
    }
    text += words;
    used += width(words);
    at = end;
  }
  return text.append(reset);
}

std::string drawn(const Frame& frame, WindowSize size) {
  std::string bytes = std::string(begin_update) + std::string(hide_cursor);
  for (std::size_t row = 0; row < size.rows; ++row) {
    const std::string_view line =
        row < frame.lines.size() ? std::string_view(frame.lines[row]) : std::string_view();
    bytes += fmt::format("\x1b[{};1H{}", row + 1, line);
    // Erasing from behind the last column would take the last character with it.
    if (shown_width(line) < size.columns) bytes += "\x1b[0m\x1b[K";
  }
  if (frame.cursor) {
    bytes +=
        fmt::format("\x1b[{};{}H{}", frame.cursor->row + 1, frame.cursor->column + 1, show_cursor);
  }
  return bytes.append(end_update);
}

}  // namespace qkv
