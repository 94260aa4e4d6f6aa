#include "exposition/selection.hpp"

#include <catch2/catch.hpp>

#include "lesson/library.hpp"

namespace exposition_chosen_cell_tests {

using namespace qkv;

TEST_CASE("no cell that the course works out is hidden by a mask") {
  for (const BuiltInLesson& lesson : built_in_lessons()) {
    const LoadedLesson loaded = load_lesson(std::string(lesson.name));
    for (const Step& step : loaded.trace.steps) {
      if (step.output.values.empty()) continue;
      const CellReference cell = cell_of(loaded.lesson, loaded.trace, step);
      INFO(lesson.name << ": " << reference_text(cell, step.output, loaded.trace.token_layout));
      CHECK_FALSE(is_masked_cell(loaded.trace, step, cell));
    }
  }
}

}  // namespace exposition_chosen_cell_tests
