#include <fstream>

#include "cli/options.hpp"
#include "cli/screen.hpp"
#include "formats/files/write_file.hpp"
#include "page/pages.hpp"

namespace qkv::inline cli {
namespace {

struct ReportCommandOptions {
  LessonSelection lesson;
  std::string file;
  std::vector<std::string> steps;
  std::optional<std::size_t> head;  ///< from 1
  int digits = 4;
  bool force = false;
};

namespace fs = std::filesystem;

// The head of a page names its generator, after a description of any length.
constexpr std::size_t max_head = 65536;

// True if the file begins like a page of qkv's own.
bool is_report(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string start(max_head, '\0');
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(stream.gcount()));
  return start.starts_with("<!DOCTYPE html>") &&
         start.find("<meta name=\"generator\" content=\"qkv ") != std::string::npos;
}

// An older page is replaced by a newer one; other files only on request.
void refuse_to_replace(const ReportCommandOptions& options) {
  refuse_unless_file(options.file);
  std::error_code ignored;
  if (!fs::is_regular_file(options.file, ignored)) return;
  if (fs::equivalent(options.file, options.lesson.name, ignored)) {
    throw InputError("{} is the lesson's file; name another file for the page", options.file);
  }
  if (options.force || is_report(options.file)) return;
  throw InputError(
      "{} exists and is not a page of qkv; name another file, or replace it with --force",
      options.file);
}

std::string command_of(const ReportCommandOptions& options, const Lesson& lesson) {
  std::string words = "qkv report " + lesson.asked;
  for (const std::string& step : options.steps) words += " --step " + shell_word(step);
  if (options.head) words += fmt::format(" --head {}", *options.head);
  if (options.digits != 4) words += fmt::format(" --digits {}", options.digits);
  return words + " -o " + shell_word(options.file);
}

// The indices of the requested steps, which are shown even if the lesson hides them.
std::vector<std::size_t> places_of(const std::vector<std::string>& steps, LoadedLesson& loaded) {
  return mapped(steps, [&](const std::string& step) {
    const std::size_t place = step_index(loaded.trace, step);
    loaded.lesson.texts[loaded.trace.steps[place].number - 1].show = true;
    return place;
  });
}

// A page embeds the numbers from which its cells are computed.
void refuse_too_many(const Trace& trace, const std::vector<std::size_t>& steps) {
  constexpr std::size_t most = 200'000'000;
  const std::size_t count = numbers_of(trace, steps);
  if (count <= most) return;
  throw InputError(
      "{} numbers are too many for a page ({} at most): choose some steps, such as --step {}, or "
      "use qkv run",
      group_digits(count), group_digits(most), trace.steps.front().name);
}

int run(const ReportCommandOptions& options, const CommonOptions&) {
  if (options.file != "-") refuse_to_replace(options);
  LoadedLesson loaded = load(options.lesson, options.steps);
  const std::vector<std::size_t> steps = places_of(options.steps, loaded);
  refuse_too_many(loaded.trace, steps);
  const std::size_t shown = steps.empty() ? loaded.trace.steps.size() : steps.size();
  const auto write = [&](const Sink& sink) {
    Progress progress("writing the page", shown);
    write_report(loaded.lesson, loaded.trace,
                 {.digits = options.digits,
                  .command = command_of(options, loaded.lesson),
                  .steps = steps,
                  .head = head_from(options.head, loaded.trace),
                  .on_step = [&progress] { progress.advance(1); }},
                 sink);
  };
  if (options.file == "-") {
    write(print);
    return 0;
  }
  write_atomically(options.file, write);
  print_error(fmt::format("{}: open it in a browser\n", sanitise(options.file)));
  return 0;
}

void declare(CLI::App& app, ReportCommandOptions& options) {
  add_lesson_options(app, options.lesson);
  add_value(app, "-o,--output", options.file, "FILE", "The page to write; - for standard output")
      ->check(check_path)
      ->required();
  add_value(app, "--step", options.steps, "STEP",
            "Only this step and its operands (name or number; repeatable)")
      ->check(check_step);
  add_head_option(app, options.head);
  add_digits_option(app, options.digits);
  app.add_flag("--force", options.force, "Replace the file even if it is not a page of qkv");
  add_sync_option(app);
}

}  // namespace

constinit const Command report_command{
    .name = "report",
    .summary = "one page for a browser: every matrix as a heatmap, every cell's arithmetic",
    .examples =
        "  qkv report the-fat-cat -o the-fat-cat.html\n"
        "  qkv report the-fat-cat -o - --text \"the cat sat\" > cat.html\n"
        "  qkv report my-lesson.toml -o my-lesson.html --digits 2\n"
        "  qkv report two-heads --step scores --step context --head 2 -o two.html\n"
        "  qkv report --model model.safetensors --text \"…\" --step h0.scores -o s.html\n",
    .setup = set_up_command<ReportCommandOptions, declare, run>,
};

}  // namespace qkv::inline cli
