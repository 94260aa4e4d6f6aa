#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::inline interactive {

/// The size of a terminal's window.
struct WindowSize {
  std::size_t rows = 24;
  std::size_t columns = 80;

  bool operator==(const WindowSize&) const = default;
};

/// Where the cursor stands while a line is typed, from 0.
struct CursorPlace {
  std::size_t row = 0;
  std::size_t column = 0;
};

/// All that a window shows: at most its rows, none wider than its columns.
struct Frame {
  std::vector<std::string> lines;
  std::optional<CursorPlace> cursor = {};  ///< hidden where there is none
};

/// Each line of a text broken to so many columns, cells' names in one piece.
std::vector<std::string> broken_lines(std::string_view text, std::size_t columns);

/// The lines of a page for so many columns. What is wider, as commands are, goes on further in on
/// the next line; lines in colour stay as they are.
std::vector<std::string> page_lines(std::string_view text, std::size_t columns);

/// The line cut to so many columns, its end replaced by `…`; its colours end with it.
std::string truncated_line(std::string_view line, std::size_t columns);

/// The bytes that put a frame on a terminal, where the last one was, without flicker: they neither
/// clear the window first nor end a line behind its last column.
std::string frame_bytes(const Frame& frame, WindowSize size);

}  // namespace qkv::inline interactive
