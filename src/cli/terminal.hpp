#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace qkv::inline cli {

enum class ColourMode { automatic, always, never };

/// What qkv is writing to.
struct Terminal {
  std::size_t width = 80;  ///< from COLUMNS, else the terminal's own, else 80
  bool colour = false;
};

/// Looks at standard output and the environment: --color, then NO_COLOR, then whether it is a
/// terminal that knows colours.
Terminal terminal(ColourMode choice);

/// Writes results to standard output; a pipe that takes no more for now is waited for.
void print(std::string_view text);

/// Hands what was printed so far to the system.
void flush_output();

/// Writes a message to standard error, after all results so far. Its reader may have gone:
/// what cannot be written is lost.
void print_error(std::string_view text);

/// Flushes standard output. Throws InputError where something could not be written, so that a full
/// disk does not pass for success.
void finish_output();

/// Messages of a kind that may come by the thousand: the first ones are told, the others counted.
class MessageLimit {
 public:
  /// A line of standard error, unless there were many already; whether it was told.
  bool print_error(std::string_view message);

  /// How many were not told; 0 at first.
  std::size_t suppressed() const;

 private:
  std::size_t count_ = 0;
};

}  // namespace qkv::inline cli
