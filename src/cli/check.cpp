#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "check/check.hpp"
#include "cli/command.hpp"
#include "cli/lesson_options.hpp"
#include "cli/progress.hpp"
#include "render/checked.hpp"
#include "render/text.hpp"
#include "tensor/error.hpp"

namespace qkv {
namespace {

namespace fs = std::filesystem;

struct CheckCommandOptions {
  LessonChoice lesson;
  std::vector<std::string> paths;
  CheckOptions rules;
  bool json = false;
  bool no_answers = false;
  bool watch = false;
  std::string summary;
};

// All that was checked, and what could not be.
struct Round {
  std::vector<CheckReport> reports;
  std::vector<std::string> failures;    ///< what could not be read, and why
  std::vector<std::string> unreadable;  ///< whose work that is
};

Round check_all(const CheckCommandOptions& options, const LoadedLesson& loaded) {
  Round round;
  const std::size_t matrices = loaded.trace.givens.size() + loaded.trace.steps.size();
  Progress progress("checking", 3 * matrices * options.paths.size());  // read, judged, reported
  CheckOptions rules = options.rules;
  rules.on_matrix = [&progress] { progress.advance(1); };
  for (const std::string& path : options.paths) {
    try {
      const Submission submission = read_submission(path, loaded.trace);
      progress.advance(matrices);
      round.reports.push_back(check(loaded.lesson, loaded.trace, submission, rules));
    } catch (const InputError& error) {
      if (options.paths.size() == 1) throw;
      round.failures.push_back(fmt::format("{}: {}", path, error.what()));
      round.unreadable.push_back(path);
    }
  }
  return round;
}

void print_round(const Round& round, const CheckCommandOptions& options, const LoadedLesson& loaded,
                 const Common& common) {
  const Answers answers = options.no_answers ? Answers::kept : Answers::shown;
  for (const CheckReport& report : round.reports) {
    for (const std::string& note : report.notes) {
      tell(fmt::format("qkv: {}: {}\n", visible(report.submission), visible(note)));
    }
  }
  if (!options.summary.empty()) {
    print(visible_prose(summary_csv(round.reports, round.unreadable, loaded.trace)));
  } else if (options.json) {
    print(visible_json(checked_json(round.reports, loaded.lesson, answers)));
  } else if (options.paths.size() > 1) {
    for (const CheckReport& report : round.reports) print(checked_line(report, loaded.trace));
  } else {
    const Terminal output = terminal(common.colour);
    for (const CheckReport& report : round.reports) {
      print(checked_text(report,
                         {.width = output.width, .colour = output.colour, .answers = answers}));
    }
  }
  for (const std::string& failure : round.failures) {
    tell(fmt::format("qkv: {}\n", visible(failure)));
  }
}

int status_of(const Round& round) {
  if (!round.failures.empty()) return 2;
  for (const CheckReport& report : round.reports) {
    if (report.outcome == Outcome::wrong) return 1;
  }
  return 0;
}

// Changes whenever a file of the submissions is saved, made or removed.
std::string fingerprint(const std::vector<std::string>& paths) {
  std::string print;
  std::error_code ignored;
  const auto add = [&](const fs::path& path) {
    print += fmt::format("{} {} {}\n", path.string(),
                         fs::last_write_time(path, ignored).time_since_epoch().count(),
                         fs::is_directory(path, ignored) ? 0 : fs::file_size(path, ignored));
  };
  for (const std::string& path : paths) {
    add(path);
    if (!fs::is_directory(path, ignored)) continue;
    for (const auto& entry : fs::directory_iterator(path, ignored)) add(entry.path());
  }
  return print;
}

// Checks again at every save, until somebody ends it.
[[noreturn]] void watch(const CheckCommandOptions& options, const LoadedLesson& loaded,
                        const Common& common) {
  using namespace std::chrono_literals;
  std::string seen;
  while (true) {
    const std::string now = fingerprint(options.paths);
    if (now != seen) {
      seen = now;
      try {
        print_round(check_all(options, loaded), options, loaded, common);
      } catch (const InputError& error) {  // a file half saved, or for now not there
        print(fmt::format("{}\n", visible(error.what())));
      }
      print("(checking again at the next save; Ctrl-C ends)\n\n");
      finish_output();
    }
    std::this_thread::sleep_for(200ms);
  }
}

int run(const CheckCommandOptions& options, const Common& common) {
  const LoadedLesson loaded = load_lesson(options.lesson.name, options.lesson.changes);
  if (options.watch) watch(options, loaded, common);
  const Round round = check_all(options, loaded);
  print_round(round, options, loaded, common);
  return status_of(round);
}

std::function<int()> setup(CLI::App& app, const Common& common) {
  const auto options = std::make_shared<CheckCommandOptions>();
  add_lesson_options(app, options->lesson, LessonArgument::required);
  app.add_option("PATH", options->paths,
                 "What was handed in: a directory, or a file named after its step")
      ->required()
      ->type_name("");
  app.add_option("--digits", options->rules.digits,
                 "Judge by this many decimals, whatever was written")
      ->type_name("N")
      ->check(CLI::Range(0, 17).description(""));
  app.add_flag("--strict", options->rules.strict, "Other conventions are wrong, too");
  app.add_flag("--no-answers", options->no_answers, "Which cells and why, never the right value");
  app.add_flag("--watch", options->watch, "Check again at every save");
  CLI::Option* json = app.add_flag("--json", options->json, "As JSON, for programs");
  app.add_option("--summary", options->summary, "A table of many submissions: csv")
      ->check(CLI::IsMember({"csv"}).description(""))
      ->type_name("FORMAT")
      ->excludes(json);
  return [options, &common] { return run(*options, common); };
}

}  // namespace

constinit const Command check_command{
    .name = "check",
    .summary = "verifies hand calculations: the first slip, and which mistake makes those numbers",
    .examples =
        "  qkv check the-fat-cat my-work/             every step that is there\n"
        "  qkv check the-fat-cat scores.csv           one step\n"
        "  qkv check the-fat-cat my-work --no-answers where to look, not what to write\n"
        "  qkv check the-fat-cat class/* --summary csv > marks.csv\n",
    .setup = setup,
};

}  // namespace qkv
