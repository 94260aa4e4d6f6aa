#pragma once

#include <cstddef>
#include <string_view>

namespace qkv::inline cli {

enum class ColourMode { automatic, always, never };

/// The properties of standard output.
struct Terminal {
  std::size_t width = 80;  ///< from COLUMNS, else the terminal's own, else 80
  bool colour = false;
};

/// Returns the properties of standard output. --color decides on colour, then NO_COLOR.
Terminal output_terminal(ColourMode choice);

/// Writes results to standard output; waits if a pipe is full.
void print(std::string_view text);

/// Flushes standard output.
void flush_output();

/// Writes a message to standard error, after flushing standard output. Write errors are ignored.
void print_error(std::string_view text);

/// Flushes standard output. Throws InputError on failure, such as a full disk.
void finish_output();

/// Prints the first messages of a kind that may come by the thousand, and counts the rest.
class MessageLimit {
 public:
  /// Prints a line to standard error, unless the limit is reached.
  void print_error(std::string_view message);

  /// Prints how many messages were suppressed, if any: "and 7 more paths that can't be read".
  void print_rest(std::string_view kind) const;

 private:
  std::size_t count_ = 0;
};

}  // namespace qkv::inline cli
