#include "cli/lesson_options.hpp"

#include <CLI/CLI.hpp>

#include "cli/values.hpp"

namespace qkv {

void add_lesson_options(CLI::App& app, LessonChoice& choice, LessonArgument argument) {
  CLI::Option* lesson = app.add_option("LESSON", choice.name, "A lesson's name, or a lesson file");
  lesson->type_name("");
  if (argument == LessonArgument::required) {
    lesson->required();
  } else {
    choice.name = std::string(built_in_lessons().front().name);
  }
  app.add_option("--text", choice.changes.text,
                 "Another sentence of words that the lesson knows (qkv lessons LESSON lists them)")
      ->type_name("TEXT");
  app.add_option("--set", choice.changes.set,
                 "Another value for a given's cell, such as 'W_Q[head 1,1,2]=0.5'")
      ->type_name("CELL=VALUE")
      ->allow_extra_args(false);
}

void add_digits_option(CLI::App& app, int& digits) {
  app.add_option("--digits", digits, "Decimals to show (4)")->type_name("N")->check(decimals());
}

}  // namespace qkv
