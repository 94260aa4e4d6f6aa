#include "cli/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "cli/export.hpp"
#include "cli/screen.hpp"
#include "cli/terminal.hpp"
#include "exporting/export_plan.hpp"
#include "interactive/plain.hpp"
#include "interactive/stepper.hpp"
#include "interactive/way_back.hpp"
#include "text/escape.hpp"

namespace qkv {
namespace {

std::string export_everything(const LoadedLesson& loaded, const std::string& directory) {
  return export_to_directory(export_plan(loaded.lesson, loaded.trace, {}), directory);
}

// A line of standard input, without its end; nothing at the end of the input.
std::optional<std::string> read_line() {
  char* bytes = nullptr;
  std::size_t size = 0;
  const ssize_t length = getline(&bytes, &size, stdin);
  std::optional<std::string> line;
  if (length >= 0) line.emplace(bytes, static_cast<std::size_t>(length));
  std::free(bytes);
  if (line && line->ends_with('\n')) line->pop_back();
  return line;
}

// What is typed is seen on a terminal; from a pipe it is put beside its prompt, so that the output
// reads as if it had been typed.
void by_lines(Walkthrough walk, std::optional<Quiz> quiz, const std::string& options,
              std::size_t columns) {
  PlainStepper stepper(std::move(walk), std::move(quiz), export_everything, columns);
  print(stepper.begin());
  const bool seen = isatty(STDIN_FILENO);
  while (!stepper.is_over()) {
    print(stepper.prompt());
    flush_output();
    const auto line = read_line();
    if (!line || !seen) print(line ? visible(*line) + "\n" : "\n");
    print(line ? stepper.answer(*line) : stepper.end());
  }
  tell(way_back(stepper.walk(), stepper.quiz(), options));
}

void on_screen(Walkthrough walk, std::optional<Quiz> quiz, const std::string& options) {
  Stepper stepper(std::move(walk), std::move(quiz), export_everything);
  WindowSize window{.rows = 0, .columns = 0};
  {
    Screen screen;
    while (!stepper.is_over()) {
      const WindowSize size = screen.size();
      if (size != window) stepper.resize(window = size);
      screen.draw(stepper.frame());
      stepper.look_ahead();
      // Keys that come faster than frames are pressed before the next one is drawn.
      for (auto key = screen.wait(); key && !stepper.is_over(); key = screen.next()) {
        stepper.press(*key);
      }
    }
  }
  if (stepper.quiz()) print(stepper.quiz()->summary(stepper.walk(), window.columns));
  tell(way_back(stepper.walk(), stepper.quiz(), options));
}

}  // namespace

void step_through(Walkthrough walk, const SteppingChoice& choice, std::size_t columns) {
  std::optional<Quiz> quiz;
  if (choice.quiz_seed) quiz.emplace(*choice.quiz_seed);
  if (!choice.plain && can_draw()) {
    on_screen(std::move(walk), std::move(quiz), choice.options);
  } else {
    by_lines(std::move(walk), std::move(quiz), choice.options, columns);
  }
}

}  // namespace qkv
