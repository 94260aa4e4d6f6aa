#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace qkv {

/// A stretch of prose that stands by itself.
struct Passage {
  enum class Kind { paragraph, item, code };
  Kind kind = Kind::paragraph;
  std::vector<std::string> lines = {};  ///< as written, without an item's "- " and code's margin
  bool apart = false;                   ///< whether a blank line stands before it

  /// The lines on one, a blank between two of them.
  std::string on_one_line() const;
  /// The lines as they are, a line break between two of them.
  std::string as_written() const;
};

/// Prose taken apart and made safe to show: a blank line ends a passage, "- " begins an item of a
/// list, a line that starts with four blanks is code.
std::vector<Passage> passages_of(std::string_view prose);

/// The passages with words before them: `Notice: ` and a paragraph make one paragraph.
std::vector<Passage> with_lead(std::string_view lead, std::vector<Passage> passages);

}  // namespace qkv
