#pragma once

#include <cstddef>
#include <string>

#include "interactive/keys.hpp"

namespace qkv {

/// A line that is being typed; the cursor is a byte between two characters.
struct LineEdit {
  std::string text = {};
  std::size_t cursor = 0;
  bool selected = false;  ///< all of it: what is typed next takes its place

  bool operator==(const LineEdit&) const = default;
};

/// The line after a key: characters, a paste (its control characters left out), the arrows, Home,
/// End, Backspace, Delete, and Ctrl with a, e, b, f, d, h, k, u, w as in a shell. Other keys change
/// nothing. What is selected gives way to characters and a paste, goes with Backspace and Delete,
/// and is no longer selected after any other key.
LineEdit edited(LineEdit line, const Key& key);

}  // namespace qkv
