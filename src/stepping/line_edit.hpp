#pragma once

#include <cstddef>
#include <string>

#include "stepping/keys.hpp"

namespace qkv {

/// A line that somebody is typing; the cursor is a byte between two characters.
struct LineEdit {
  std::string text = {};
  std::size_t cursor = 0;

  bool operator==(const LineEdit&) const = default;
};

/// The line after a key: characters, a paste (its control characters left out), the arrows, Home,
/// End, Backspace, Delete, and Ctrl with a, e, b, f, d, h, k, u, w as in a shell. Other keys change
/// nothing.
LineEdit edited(LineEdit line, const Key& key);

}  // namespace qkv
