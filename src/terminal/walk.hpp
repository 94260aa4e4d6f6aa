#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exposition/arithmetic.hpp"
#include "lesson/lesson.hpp"
#include "text/wrapping.hpp"
#include "trace/trace.hpp"

namespace qkv::inline terminal {

/// What a matrix is drawn as.
enum class Picture {
  heatmap,  ///< numbers, shaded where there is colour, with dots beside weights
  glyphs,   ///< dots alone, where they fit
  numbers,  ///< numbers alone
};

/// What a reader can do about a matrix that is not shown whole.
enum class InputMode { commands, keys };

/// How a walk looks on this terminal.
struct WalkStyle {
  std::size_t width = 80;
  int digits = 4;
  bool colour = false;
  Picture picture = Picture::heatmap;
  InputMode reader = InputMode::commands;
  std::optional<std::size_t> head = {};  ///< of what has heads, only this one
  const Trace* baseline = nullptr;       ///< the lesson's own numbers, where some were changed:
                                         ///< what differs from them is marked and told
  bool intermediates = false;            ///< also the matrices on the way to a result
};

/// A lesson's title, what it is about and where its numbers come from; of a changed one, which
/// words explain it.
std::string lesson_heading(const Lesson& lesson, const WalkStyle& look);

/// One step as people read it: title, formula with shapes, explanation, the givens that it is the
/// first to use, the matrix, one cell worked out, what to notice.
std::string step_text(const Lesson& lesson, const Trace& trace, const Step& step,
                      const WalkStyle& look);

/// Prose, indented and broken to the width.
std::string indented(std::string_view prose, const WalkStyle& look);
std::string indented(const std::vector<Passage>& passages, const WalkStyle& look);

/// A cell's arithmetic, a line for each stride, broken to the width. With `names_hint`, the way to
/// see them, its cells are not named where that takes many lines: the numbers come first.
std::string arithmetic_text(const CellArithmetic& worked, const WalkStyle& look, std::size_t indent,
                            const std::string& names_hint = {});

}  // namespace qkv::inline terminal
