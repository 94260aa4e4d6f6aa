#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "cli/command.hpp"
#include "cli/export.hpp"
#include "cli/lesson_options.hpp"
#include "cli/option_list.hpp"
#include "cli/sync_option.hpp"
#include "cli/values.hpp"
#include "exporting/export_format.hpp"
#include "exporting/export_plan.hpp"
#include "text/error.hpp"
#include "text/escape.hpp"

namespace qkv {
namespace {

struct ExportCommandOptions {
  LessonChoice lesson;
  std::string directory;
  ExportOptions what;
};

void refuse_for_screen(const PlannedFile& file) {
  throw InputError(
      fmt::format("{} is no text for a screen; name a directory: -o DIR", visible(file.name)));
}

// Several files follow each other, each after a comment with its name: NumPy skips it.
void to_output(const std::vector<PlannedFile>& plan) {
  for (const PlannedFile& file : plan) {
    if (file.for_screen == nullptr) refuse_for_screen(file);
  }
  for (const PlannedFile& file : plan) {
    std::string text;
    file.content([&](std::string_view bytes) { text += bytes; });
    if (plan.size() > 1) print(fmt::format("# {}\n", file.name));
    print(file.for_screen(text));  // the screen is no place for a label's escape sequences
  }
}

int run(const ExportCommandOptions& options) {
  const LoadedLesson loaded = load(options.lesson, options.what.only);
  const ExportPlan plan = export_plan(loaded.lesson, loaded.trace, options.what);
  if (options.directory == "-") {
    to_output(plan.files);
  } else {
    tell(export_to_directory(plan, options.directory) + "\n");
  }
  return 0;
}

std::string formats_help() {
  std::string text = "csv unless named; several at once: npy,json\n";
  for (const ExportFormat& format : export_formats()) {
    text += fmt::format("{:<12} {}\n", format.format->name, format.says);
  }
  text.pop_back();
  return text;
}

// A list of names with commas; a shell offers single ones.
ValueKind formats() {
  const auto refusal = [](std::string& list) -> std::string {
    try {
      find_export_formats({&list, 1});
      return {};
    } catch (const InputError& error) {
      return error.what();
    }
  };
  ValueKind kind{.name = "NAME", .offer = Offer::choices, .refusal = refusal};
  for (const std::string_view name : export_format_names()) kind.choices.emplace_back(name);
  return kind;
}

std::function<int()> set_up_export(OptionList& app, const Common&) {
  const auto options = std::make_shared<ExportCommandOptions>();
  add_lesson_options(app, options->lesson, LessonArgument::required);
  app.add_option("-o,--output", options->directory, a_directory(),
                 "The directory to write to; - for the screen")
      ->required();
  app.add_option("--format", options->what.formats, formats(), formats_help());
  app.add_option("--step", options->what.only, {.name = "NAME", .offer = Offer::steps},
                 "Only this step or given (repeatable)");
  app.add_option("--digits", options->what.digits, decimals(),
                 "Decimals of numbers in text (all that a double needs; in documents 4)");
  app.add_flag("--plain", options->what.plain, "Numbers only, without labels");
  add_sync_option(app);
  return [options] { return run(*options); };
}

}  // namespace

constinit const Command export_command{
    .name = "export",
    .summary = "every step's matrix as a file, for spreadsheets, programs and documents",
    .examples =
        "  qkv export the-fat-cat -o out\n"
        "  qkv export the-fat-cat -o out --plain         numbers only, for numpy.loadtxt\n"
        "  qkv export the-fat-cat -o out --format npy    an array a step, with all heads\n"
        "  qkv export the-fat-cat -o out --format npz,json,latex\n"
        "  qkv export the-fat-cat --step scores -o -     one matrix, on the screen\n"
        "  qkv export the-fat-cat --format markdown -o - > walk.md\n"
        "  qkv export --model model.safetensors --text \"…\" --format npz -o out\n",
    .setup = set_up_export,
    .model = ModelPlace::first,
    .files = FileUse::writes,
};

}  // namespace qkv
