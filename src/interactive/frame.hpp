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

/// The cursor's position while a line is typed, from 0.
struct CursorPlace {
  std::size_t row = 0;
  std::size_t column = 0;
};

/// The content of a window: at most its rows, none wider than its columns.
struct Frame {
  std::vector<std::string> lines;
  std::optional<CursorPlace> cursor = {};  ///< if unset, the cursor is hidden
};

/// Wraps each line to `columns`; cell names stay whole.
std::vector<std::string> broken_lines(std::string_view text, std::size_t columns);

/// Returns the lines of a page, wrapped to `columns`. Continuation lines of wide ones, such as
/// commands, are indented; coloured lines are not wrapped.
std::vector<std::string> page_lines(std::string_view text, std::size_t columns);

/// Truncates a line to `columns` and ends it with `…`; colours end there, too.
std::string truncated_line(std::string_view line, std::size_t columns);

/// Returns the escape sequence that draws a frame over the last one. To avoid flicker, it neither
/// clears the window first nor writes a line break after the last column.
std::string frame_bytes(const Frame& frame, WindowSize size);

}  // namespace qkv::inline interactive
