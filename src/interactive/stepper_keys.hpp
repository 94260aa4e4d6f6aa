#pragma once

#include <span>
#include <string>
#include <string_view>

#include "interactive/stepper.hpp"

namespace qkv::inline interactive {

/// What the last line of the screen tells.
struct StatusLine {
  std::string_view number;  ///< "6/15"
  std::string_view name;    ///< of the step; gives way where there is little room
  std::size_t hidden = 0;   ///< lines below the window
  bool in_cell = false;
  std::string_view at_end = {};  ///< in place of "Enter next", where there is no next step
  bool has_heads = false;        ///< there are matrices for Tab to go to
};

/// What the keys of a stepper do: one table for the keys themselves, the help and the last line of
/// the screen.
struct StepperKeys {
  using Action = void (Stepper::*)();

  /// nullptr where the key does nothing.
  static Action action(const Key& key, bool in_cell);

  /// All keys and what they do, for so many columns.
  static std::string help(std::size_t columns);

  /// The last line of the screen: where one is, how much is hidden, the keys that there is room
  /// for.
  static std::string status(const StatusLine& what, std::size_t columns);

 private:
  struct Binding;
  static std::span<const Binding> of_step();
  static std::span<const Binding> of_cell();
  static std::span<const Binding> of_both();
};

}  // namespace qkv::inline interactive
