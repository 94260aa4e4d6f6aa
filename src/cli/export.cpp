#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "cli/command.hpp"
#include "cli/lesson_options.hpp"
#include "formats/write_file.hpp"
#include "render/exported.hpp"
#include "render/text.hpp"
#include "tensor/error.hpp"

namespace qkv {
namespace {

struct ExportCommandOptions {
  LessonChoice lesson;
  std::string directory;
  std::vector<std::string> formats;
  ExportOptions what;
};

void to_directory(const LoadedLesson& loaded, const ExportCommandOptions& options) {
  make_directory(options.directory);
  std::size_t count = 0;
  export_csv(loaded.lesson, loaded.trace, options.what, [&](const ExportedFile& file) {
    write_whole(std::filesystem::path(options.directory) / file.name, file.bytes);
    ++count;
  });
  tell(fmt::format("{} file{} in {}\n", count, count == 1 ? "" : "s", visible(options.directory)));
}

// Several matrices follow each other, each after a comment with its name: NumPy skips it.
void to_output(const LoadedLesson& loaded, const ExportOptions& options) {
  std::vector<ExportedFile> files;
  export_csv(loaded.lesson, loaded.trace, options, [&](ExportedFile file) {
    if (file.name.ends_with(".csv")) files.push_back(std::move(file));
  });
  for (const ExportedFile& file : files) {
    if (files.size() > 1) print(fmt::format("# {}\n", file.name));
    print(visible_prose(file.bytes));  // the screen is no place for a label's escape sequences
  }
}

int run(const ExportCommandOptions& options) {
  const LoadedLesson loaded = load_lesson(options.lesson.name, options.lesson.changes);
  if (options.directory == "-") {
    to_output(loaded, options.what);
  } else {
    to_directory(loaded, options);
  }
  return 0;
}

std::function<int()> setup(CLI::App& app, const Common&) {
  const auto options = std::make_shared<ExportCommandOptions>();
  add_lesson_options(app, options->lesson, LessonArgument::required);
  app.add_option("-o,--output", options->directory, "The directory to write to; - for the screen")
      ->required()
      ->type_name("DIR");
  app.add_option("--format", options->formats, "csv")
      ->check(CLI::IsMember({"csv"}).description(""))
      ->type_name("NAME");
  app.add_option("--step", options->what.only, "Only this step or given (repeatable)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("--digits", options->what.digits, "Decimals (all that a double needs)")
      ->type_name("N")
      ->check(CLI::Range(0, 17).description(""));
  app.add_flag("--plain", options->what.plain, "Numbers only, without labels");
  return [options] { return run(*options); };
}

}  // namespace

constinit const Command export_command{
    .name = "export",
    .summary = "every step's matrix as a CSV file",
    .examples =
        "  qkv export the-fat-cat -o out\n"
        "  qkv export the-fat-cat -o out --plain        numbers only, for numpy.loadtxt\n"
        "  qkv export the-fat-cat --step scores -o -    one matrix, on the screen\n",
    .setup = setup,
};

}  // namespace qkv
