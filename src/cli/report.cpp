#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.hpp"
#include "cli/lesson_options.hpp"
#include "cli/shell_word.hpp"
#include "formats/write_file.hpp"
#include "render/report.hpp"
#include "render/text.hpp"

namespace qkv {
namespace {

struct ReportOptions {
  LessonChoice lesson;
  std::string file;
  int digits = 4;
};

int run(const ReportOptions& options) {
  const LoadedLesson loaded = load_lesson(options.lesson.name, options.lesson.changes);
  const std::string command =
      fmt::format("qkv report {}{} -o {}", shell_words(options.lesson),
                  options.digits == 4 ? "" : fmt::format(" --digits {}", options.digits),
                  options.file == "-" ? "-" : shell_word(options.file));
  const std::string page =
      report_page(loaded.lesson, loaded.trace, {.digits = options.digits, .command = command});
  if (options.file == "-") {
    print(page);
    return 0;
  }
  write_whole(options.file, page);
  tell(fmt::format("{}: open it in a browser\n", visible(options.file)));
  return 0;
}

std::function<int()> setup(CLI::App& app, const Common&) {
  const auto options = std::make_shared<ReportOptions>();
  add_lesson_options(app, options->lesson, LessonArgument::required);
  app.add_option("-o,--output", options->file, "The page to write; - for standard output")
      ->required()
      ->type_name("FILE");
  add_digits_option(app, options->digits);
  return [options] { return run(*options); };
}

}  // namespace

constinit const Command report_command{
    .name = "report",
    .summary = "one page for a browser: every matrix as a heatmap, every cell's arithmetic",
    .examples =
        "  qkv report the-fat-cat -o the-fat-cat.html\n"
        "  qkv report the-fat-cat -o - --text \"the cat sat\" > cat.html\n"
        "  qkv report my-lesson.toml -o my-lesson.html --digits 2\n",
    .setup = setup,
};

}  // namespace qkv
