#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "text/unicode.hpp"
#include "tokens/regex.hpp"

namespace qkv {

/// A part of a regular expression.
struct CutPattern::Node {
  enum class Kind { characters, sequence, choice, repeat, look };

  /// What a class has in it: the characters from `first` to `last`; or, where `group` is a letter,
  /// those of that general category ('s' stands for blanks, 'w' for what words are made of).
  struct Item {
    Code first = 0;
    Code last = 0;
    char group = 0;
    char detail = 0;  ///< the category's second letter, if it matters
    bool is_not = false;
  };

  static constexpr std::size_t no_end = std::numeric_limits<std::size_t>::max();

  Kind kind = Kind::sequence;
  std::vector<std::unique_ptr<Node>> parts = {};
  std::vector<Item> items = {};  ///< of characters
  bool is_not = false;           ///< of characters, and of what must not follow
  bool any_case = false;
  std::size_t least = 0;
  std::size_t most = no_end;
  bool keeps = false;  ///< a repeat that gives nothing back
};

/// The tree of a regular expression. Throws InputError.
std::unique_ptr<CutPattern::Node> parsed_pattern(std::string_view written);

}  // namespace qkv
