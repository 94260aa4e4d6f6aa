#pragma once

#include <span>
#include <string>
#include <string_view>

#include "interactive/stepper.hpp"

namespace qkv::inline interactive {

/// The content of the status line.
struct StatusLine {
  std::string_view number;  ///< "6/15"
  std::string_view name;    ///< of the step; dropped first if there is little room
  std::size_t hidden = 0;   ///< lines below the window
  bool in_cell = false;
  std::string_view at_end = {};  ///< replaces "Enter next" on the last step
  bool has_heads = false;        ///< Tab can go to other matrices
  bool has_answers = false;      ///< the step asks questions
};

/// The key bindings of a stepper: one table for the keys, the help and the status line.
struct StepperKeys {
  using Action = void (Stepper::*)();

  /// Returns the action of a key; nullptr if the key does nothing.
  static Action action(const Key& key, bool in_cell);

  /// Returns the help on all keys, wrapped to `columns`.
  static std::string help(std::size_t columns);

  /// Returns the status line: position, hidden lines, and as many keys as fit.
  static std::string status(const StatusLine& what, std::size_t columns);

 private:
  struct Binding;
  static std::span<const Binding> of_step();
  static std::span<const Binding> of_cell();
  static std::span<const Binding> of_both();
};

}  // namespace qkv::inline interactive
