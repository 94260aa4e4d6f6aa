#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lesson/library.hpp"
#include "terminal/walk.hpp"

namespace qkv::inline interactive {

/// The steps to show, by their place in the trace.
struct StepRange {
  std::size_t first = 0;
  std::size_t last = 0;
  std::vector<std::size_t> only = {};  ///< of these those alone, in order; empty: all
};

/// The place of the step that `text` names, or numbers as the walk does. Throws InputError with the
/// nearest name, or the numbers that there are.
std::size_t step_index(const Trace& trace, std::string_view text);

/// Where a reader stands who steps through a lesson, and what they have changed in it. The lesson
/// and its matrices are shared: copying is cheap.
struct Walkthrough {
  std::shared_ptr<const LoadedLesson> baseline;
  std::shared_ptr<const LoadedLesson> now;
  std::vector<std::string> set = {};  ///< what was set since it began
  StepRange step_range = {};
  std::size_t at = 0;        ///< the step, by its place in the trace
  std::size_t start_at = 0;  ///< where it stood at first
  int digits = 4;
  Picture picture = Picture::heatmap;
  bool colour = false;
  std::optional<std::size_t> head = {};  ///< of what has heads, only this one is shown
  bool intermediates = false;            ///< also the matrices on the way to a result

  const Trace& trace() const { return now->trace; }
  /// The lesson's own numbers, where some were changed: before it began, or since; else nullptr.
  const Trace* own() const { return now->own ? &now->own->trace : nullptr; }
  const Step& step() const { return now->trace.steps[at]; }
};

/// A walk from the stretch's first step.
Walkthrough walkthrough(LoadedLesson loaded, StepRange step_range, int digits, bool colour);

/// The lesson's title and what it is about.
std::string lesson_intro(const Walkthrough& walk, std::size_t width);

/// How the walk looks on so many columns.
WalkStyle style_of(const Walkthrough& walk, std::size_t width);

/// The place of the step that comes next; nothing on the last one of the stretch.
std::optional<std::size_t> next_step_index(const Walkthrough& walk);
/// Goes to the step before, also where the stretch begins only here; false on the first of all.
bool step_back(Walkthrough& walk);

/// The names of the steps that begin with `prefix`, in their order.
std::vector<std::string> steps_with_prefix(const Walkthrough& walk, std::string_view prefix);
/// The names of the givens that begin with `prefix`.
std::vector<std::string> givens_with_prefix(const Walkthrough& walk, std::string_view prefix);

/// Each of these does what a key asks for and returns what to tell about it. They throw InputError
/// where it can't be done; then nothing has changed.
std::string go_to(Walkthrough& walk, std::string_view step);
std::string set_cell(Walkthrough& walk, const std::string& change);
std::string undo(Walkthrough& walk);
std::string more_digits(Walkthrough& walk, int more);
std::string next_picture(Walkthrough& walk);

/// The steps whose numbers differ between two states of a lesson.
std::vector<std::string> changed_steps(const Trace& before, const Trace& after);

/// The cell that is meant at this step: `scores[3,2]`, or only `3,2`; the one that the walk
/// works out where the text is blank. It may be another step's. Where the heads are left out, that
/// of `matrix` is meant. Throws InputError where there is none.
CellReference resolve_cell(const Walkthrough& walk, std::string_view text, std::size_t matrix = 0);

/// How to set a cell of what this step is given, or else the lesson: `W_Q[head 1,1,2]=0.5`; empty
/// where nothing is given.
std::string example_change(const Walkthrough& walk);

}  // namespace qkv::inline interactive
