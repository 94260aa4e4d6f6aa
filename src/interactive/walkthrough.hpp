#pragma once

#include "interactive/frame.hpp"
#include "terminal/grid.hpp"
#include "terminal/walk.hpp"

namespace qkv::inline interactive {

/// The steps to show, by their index in the trace.
struct StepRange {
  std::size_t first = 0;
  std::size_t last = 0;
  std::vector<std::size_t> only = {};  ///< if not empty, only these of them, in order
};

/// Returns the index of the step with that name or number (as the walk prints it). Throws
/// InputError with the nearest name, or the valid numbers.
std::size_t step_index(const Trace& trace, std::string_view text);

/// The state of an interactive session. Lesson and matrices are shared: copying is cheap.
struct Walkthrough {
  std::shared_ptr<const LoadedLesson> baseline;
  std::shared_ptr<const LoadedLesson> now;
  std::shared_ptr<const LessonMap> map = {};  ///< of `now`
  std::vector<std::string> set = {};          ///< changes since the start
  StepRange step_range = {};
  std::string first_lesson = {};  ///< the name of the session's first lesson
  std::size_t at = 0;             ///< index of the current step
  WalkStyle style = {};           ///< without what changes with the window and the numbers

  const Trace& trace() const { return now->trace; }
  /// Returns the original trace if numbers were changed, before the start or since; else nullptr.
  const Trace* own() const { return now->own ? &now->own->trace : nullptr; }
  const Step& step() const { return now->trace.steps[at]; }
};

/// Starts a session at the range's first step.
Walkthrough walkthrough(LoadedLesson loaded, StepRange step_range, WalkStyle style);

/// Returns the lesson's title and summary.
std::string lesson_intro(const Walkthrough& walk, std::size_t width);

/// Returns the walk's display options for `width` columns.
WalkStyle style_of(const Walkthrough& walk, std::size_t width);

/// Returns the index of the next step; nothing at the end of the range.
std::optional<std::size_t> next_step_index(const Walkthrough& walk);
/// Goes to the previous step, even before the range; false at the lesson's first step.
bool step_back(Walkthrough& walk);

/// Returns the name of the course's next lesson; empty unless this is the last step of one.
std::string next_lesson(const Walkthrough& walk);
/// Returns that lesson at its first step, shown as this one.
Walkthrough in_next_lesson(const Walkthrough& walk);
/// Returns what to do at the end of the range.
std::string at_last_step(const Walkthrough& walk);

/// Returns the names of the givens or steps that begin with `prefix`, in order.
template <class Named>
std::vector<std::string> names_with_prefix(const std::vector<Named>& all, std::string_view prefix) {
  const auto has_prefix = [&](const Named& one) { return one.name.starts_with(prefix); };
  return filtered(all, has_prefix, &Named::name);
}

/// Goes to a step, by number or name; one outside the range extends it. Throws InputError.
void go_to(Walkthrough& walk, std::string_view step);
/// Actions on a session. They return a message, or throw InputError and change nothing.
std::string set_cell(Walkthrough& walk, const std::string& change);
std::string undo(Walkthrough& walk);
std::string more_digits(Walkthrough& walk, int more);
std::string next_picture(Walkthrough& walk);
/// Returns the answers to the questions of the current step.
std::string answers(const Walkthrough& walk);
std::string toggle_code(Walkthrough& walk);

/// Resolves a typed cell relative to the current step: `scores[3,2]`, also of another step, or
/// `3,2`. Blank text means the step's explained cell. Without a head, it is that of `matrix`.
/// Throws InputError if there is no such cell.
CellReference resolve_cell(const Walkthrough& walk, std::string_view text, std::size_t matrix = 0);

/// Returns an example of setting a given: `W_Q[head 1,1,2]=0.5`. Empty if there are no givens.
std::string example_change(const Walkthrough& walk);

/// Returns a cell with its arithmetic, its matrix and its operands; the cells used are highlighted.
/// Formats only the surroundings of the cell, however large the matrices are. In a small window,
/// the operands come last, below its end.
std::vector<std::string> cell_view(const Walkthrough& walk, const CellReference& cell,
                                   WindowSize window);

/// Returns the labelled operands of a cell without highlights; unseen ones follow by name.
std::vector<std::string> operands_view(const Walkthrough& walk, const CellReference& cell,
                                       WindowSize window);

/// A move in display layout: rows down, columns right, matrices forward.
struct CellMove {
  long rows = 0;
  long columns = 0;
  long matrices = 0;
};

/// Returns the cell after the move; rows and columns stop at the edges, matrices wrap around.
CellReference moved(const Walkthrough& walk, CellReference cell, const CellMove& move);

}  // namespace qkv::inline interactive
