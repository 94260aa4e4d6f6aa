#pragma once

#include "exposition/arithmetic.hpp"
#include "exposition/exposition.hpp"

namespace qkv::inline terminal {

/// How a matrix is displayed.
enum class Picture {
  heatmap,  ///< numbers, shaded if there is colour, with glyphs beside weights
  glyphs,   ///< glyphs alone, if they fit
  numbers,  ///< numbers alone
};

/// How hints tell the user to see more of a matrix: by commands or by keys.
enum class InputMode { commands, keys };

/// Options of a walk on a terminal. What differs from the outline's baseline is highlighted.
struct WalkStyle : Outline {
  std::size_t width = 80;
  bool colour = false;
  Picture picture = Picture::heatmap;
  InputMode reader = InputMode::commands;
  const LessonMap* map = nullptr;  ///< shown before the steps, and each step's place on it
};

/// Returns a lesson's title, summary and source; for a changed lesson also the notice.
std::string lesson_heading(const Lesson& lesson, const WalkStyle& look);

/// Returns one step: title, formula, explanation, new givens, its matrix, one cell, what to notice.
std::string step_text(const Lesson& lesson, const Trace& trace, const Step& step,
                      const WalkStyle& look);

/// Returns prose, indented and wrapped to the width.
std::string indented(std::string_view prose, const WalkStyle& look);
std::string indented(const std::vector<Passage>& passages, const WalkStyle& look);

/// Returns a cell's arithmetic, one line per stage, indented and wrapped to the width. With
/// `names_hint`, a long line of cell names is replaced by that hint: the numbers come first.
std::string arithmetic_text(const CellArithmetic& worked, std::size_t width,
                            const std::string& names_hint = {});

}  // namespace qkv::inline terminal
