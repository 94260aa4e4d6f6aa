#include <unistd.h>

#include <chrono>
#include <thread>

#include "cli/options.hpp"
#include "cli/screen.hpp"
#include "text/number.hpp"
#include "text/unicode.hpp"
#include "verdicts/verdicts.hpp"

namespace qkv::inline cli {
namespace {

namespace fs = std::filesystem;

struct CheckCommandOptions {
  LessonSelection lesson;
  std::vector<std::string> paths;
  NameChoice names;
  CheckOptions rules;
  bool json = false;
  bool no_answers = false;
  bool watch = false;
  Detail detail = Detail::first_wrong;
  std::string summary;
  CellShares shares;
  PartChoice part;
};

// Returns the share of the submitted cells that are right; 0 of fewer than eight.
double right_share(const CheckReport& report) {
  constexpr std::size_t least = 8;
  std::size_t right = 0, all = 0;
  for (const StepReport& step : report.steps) {
    const VerdictCounts& cells = step.cells;
    right += cells.correct + cells.rounding;
    all += cells.correct + cells.rounding + cells.carried + cells.undecided + cells.wrong;
  }
  return all < least ? 0 : static_cast<double>(right) / static_cast<double>(all);
}

// Returns the name of the course's other lesson that a mostly wrong submission has the numbers of;
// empty if there is none.
std::string lesson_of_sheet(const SubmissionPlace& place, const CheckReport& report,
                            const Lesson& lesson, const NameOptions& names) {
  constexpr double nearly_all = 0.9;
  if (report.outcome != Outcome::wrong || right_share(report) > 0.5) return {};
  for (const BuiltInLesson& one : built_in_lessons()) {
    if (one.name == lesson.name) continue;
    try {
      const LoadedLesson other = load_lesson(std::string(one.name));
      const Submission submission = read_submission(place, other.trace, names);
      const CheckReport by_other =
          check_submission(other.lesson, other.trace, submission, {.diagnoses = false});
      const bool has_as_many = by_other.steps.size() >= report.steps.size();
      if (has_as_many && right_share(by_other) > nearly_all) return std::string(one.name);
    } catch (const InputError&) {
      continue;  // another lesson's names
    }
  }
  return {};
}

std::vector<CheckedPath> check_all(const CheckCommandOptions& options, const LoadedLesson& loaded) {
  std::vector<CheckedPath> all;
  const std::size_t matrices = loaded.trace.givens.size() + loaded.trace.steps.size();
  Progress progress("checking", 3 * matrices * options.paths.size());  // read, judged, reported
  CheckOptions rules = options.rules;
  rules.on_matrix = [&progress] { progress.advance(1); };
  const NameOptions names = names_of(options.names);
  std::vector<SubmissionPlace> places;
  std::set<std::size_t> used_maps;
  std::size_t read = 0;  // submissions without an unreadable file, which might have used a map
  const auto tried = [&](const fs::path& path, const auto& action) {
    try {
      action();
    } catch (const InputError& error) {
      // Only a table row or JSON entry can report it; otherwise it is an ordinary error.
      const bool has_row = options.json || !options.summary.empty();
      if (options.paths.size() == 1 && places.size() < 2 && !has_row) throw;
      all.push_back({.path = path.string(), .failure = error.what()});
    }
  };
  for (const std::string& path : options.paths) {
    places.clear();
    tried(path, [&] { places = submissions_in(path, loaded.trace, names); });
    for (const SubmissionPlace& place : places) {
      tried(place.path, [&] {
        Submission submission = read_submission(place, loaded.trace, names);
        if (!submission.scheme.empty()) arrange_program(loaded.trace, submission);
        used_maps.insert(submission.used_maps.begin(), submission.used_maps.end());
        read += submission.unreadable.empty() ? 1 : 0;
        progress.advance(matrices);
        all.push_back({place.path.string(),
                       check_submission(loaded.lesson, loaded.trace, submission, rules)});
        if (options.paths.size() > 1 || places.size() > 1) return;
        CheckReport& report = *all.back().report;
        const std::string other = lesson_of_sheet(place, report, loaded.lesson, names);
        if (!other.empty())
          report.notes = {fmt::format("this looks like the sheet of {0}: qkv check {0}", other)};
      });
    }
  }
  if (read > 0) {
    refuse_unused_maps(names, used_maps,
                       all.size() == 1 ? all[0].path + " has no" : "no submission has an");
  }
  return all;
}

void print_messages(const std::vector<CheckedPath>& all) {
  MessageLimit failures;
  for (const CheckedPath& one : all) {
    if (!one.report) {
      failures.print_error(one.failure);
      continue;
    }
    MessageLimit notes;
    for (const std::string& why : one.report->unreadable) notes.print_error(why);
    for (const std::string& note : one.report->notes) notes.print_error(note);
    notes.print_rest("messages about " + sanitise(one.path));
  }
  failures.print_rest("paths that can't be read");
}

Rubric rubric_of(const CheckCommandOptions& options, const LoadedLesson& loaded) {
  const WorksheetRequest part = worksheet_request(options.part, loaded.trace);
  AskedCells asked;
  if (part.is_part()) {
    for (const auto& [name, uses] : worksheet_cells(loaded.trace, part).uses) {
      asked[name] = mapped(uses, [](CellUse use) { return use == CellUse::asked; });
    }
  }
  return {loaded.lesson, loaded.trace, options.shares, asked};
}

void print_all(const std::vector<CheckedPath>& all, const CheckCommandOptions& options,
               const LoadedLesson& loaded, const CommonOptions& common) {
  const Answers answers = options.no_answers ? Answers::kept : Answers::shown;
  print_messages(all);
  if (!options.summary.empty()) {
    print(sanitise_prose(summary_csv(all, rubric_of(options, loaded))));
  } else if (options.json) {
    print(checked_json(all, loaded.lesson, answers));
  } else if (all.size() > 1) {
    const Rubric rubric = rubric_of(options, loaded);
    constexpr std::size_t most = 10;  // errors are limited, since there may be thousands
    std::size_t unreadable = 0;
    for (const CheckedPath& one : all) {
      if (one.report || ++unreadable <= most) print(checked_line(one, rubric));
    }
    if (unreadable > most) print(fmt::format("{} more: can't be read\n", unreadable - most));
  } else {
    const Terminal output = output_terminal(common.colour);
    if (!all.front().report->scheme.empty()) print(all.front().report->scheme + "\n");
    print(checked_text(*all.front().report, {.width = output.width,
                                             .colour = output.colour,
                                             .answers = answers,
                                             .detail = options.detail,
                                             .lesson = loaded.lesson.asked}));
  }
}

int status_of(const std::vector<CheckedPath>& all) {
  int status = 0;
  for (const CheckedPath& one : all) {
    if (!one.report || !one.report->unreadable.empty()) return 2;
    const Outcome outcome = one.report->outcome;
    if (outcome == Outcome::wrong || outcome == Outcome::undecided) status = 1;
  }
  return status;
}

// Changes whenever a file of the submissions or the lesson is saved, created or removed.
std::string fingerprint(const CheckCommandOptions& options) {
  std::string print;
  std::error_code ignored;
  const auto add = [&](const fs::path& path) {
    if (is_editor_backup(path.filename().string()) || fs::is_directory(path, ignored)) return;
    print += fmt::format("{} {} {}\n", path.string(),
                         fs::last_write_time(path, ignored).time_since_epoch().count(),
                         fs::file_size(path, ignored));
  };
  add(options.lesson.name);
  for (const std::string& path : options.paths) {
    add(path);
    if (!fs::is_directory(path, ignored)) continue;
    std::error_code error;
    for (auto entry = fs::directory_iterator(path, error);
         !error && entry != fs::directory_iterator(); entry.increment(error)) {
      add(entry->path());
    }
  }
  return print;
}

// The fingerprint once saving is finished: a file often exists before its content.
std::string settled_fingerprint(const CheckCommandOptions& options) {
  using namespace std::chrono_literals;
  std::string print = fingerprint(options);
  while (true) {
    std::this_thread::sleep_for(200ms);
    std::string next = fingerprint(options);
    if (next == print) return print;
    print = std::move(next);
  }
}

LoadedLesson loaded_for(const CheckCommandOptions& options) {
  LoadedLesson loaded = load(options.lesson);
  if (!options.rules.gradients) return loaded;
  return with_gradients(std::move(loaded), options.paths);
}

// Checks again after every save, until a signal ends it.
[[noreturn]] void watch(const CheckCommandOptions& options, const CommonOptions& common) {
  const bool is_screen = isatty(STDOUT_FILENO) == 1;
  std::string seen;
  while (true) {
    const std::string now = settled_fingerprint(options);
    if (now == seen) continue;
    seen = now;
    print(is_screen ? "\033[H\033[2J" : "");
    finish_output();
    print_error("(checking again at each save; Ctrl-C ends)\n");
    try {
      const LoadedLesson loaded = loaded_for(options);
      print_all(check_all(options, loaded), options, loaded, common);
    } catch (const InputError& error) {  // temporarily missing or invalid
      print_error(fmt::format("qkv: {}\n", sanitise(error.what())));
    }
    finish_output();
  }
}

int run(const CheckCommandOptions& options, const CommonOptions& common) {
  if (options.watch) watch(options, common);
  const LoadedLesson loaded = loaded_for(options);
  const std::vector<CheckedPath> all = check_all(options, loaded);
  print_all(all, options, loaded, common);
  return status_of(all);
}

// An error message, or empty. CLI::Range takes nan for a number in any range.
std::string check_share(const std::string& text) {
  const auto share = parse_number<double>(text);
  if (share && *share >= 0 && *share <= 1) return {};
  return fmt::format("\"{}\" is not a number from 0 to 1, such as 0.5", text);
}

void declare(CLI::App& app, CheckCommandOptions& options) {
  add_lesson_options(app, options.lesson);
  app.add_option("PATH", options.paths,
                 "The submission: a directory, or a file named after its step")
      ->required()
      ->check(check_path);
  add_name_options(app, options.names);
  add_number(app, "--digits", options.rules.digits, decimals(),
             "Judge with this many decimals, however many were written");
  app.add_flag("--strict", options.rules.strict,
               "Also count other conventions as wrong, and a step in a coarser type than the rest");
  app.add_flag(
      "--gradients", options.rules.gradients,
      "Also check gradients. They start where the lesson says, else at the loss or at the last "
      "submitted gradient");
  app.add_flag("--no-answers", options.no_answers,
               "Report which cells and why, never the right value");
  app.add_flag("--watch", options.watch, "Check again at every save");
  app.add_flag_callback(
      "--all", [&options] { options.detail = Detail::all; },
      "Every step and matrix, not only the first wrong one");
  app.add_flag("--json", options.json, "As JSON, for programs");
  add_value(app, "--summary", options.summary, "FORMAT",
            "A table of many submissions (csv): a row for each, with its marks and those of every "
            "step")
      ->check(one_of({"csv"}))
      ->excludes("--json");
  add_value(app, "--carried", options.shares.carried, "SHARE",
            "What a cell earns that is wrong only because of an earlier mistake: 0 to 1 of its "
            "marks (1)")
      ->check(check_share)
      ->needs("--summary");
  add_value(app, "--unexplained", options.shares.unexplained, "SHARE",
            "The share of it that is left if no known mistake explains the earlier one: 0 to 1 (0)")
      ->check(check_share)
      ->needs("--summary");
  add_part_options(app, options.part);
  for (const char* part : {"--step", "--from", "--to", "--head", "--row"}) {
    app.get_option(part)->needs("--summary")->group("The part that the worksheet asked for");
  }
}

}  // namespace

constinit const Command check_command{
    .name = "check",
    .summary = "verifies hand calculations: the first slip, and the mistake behind it",
    .examples =
        "  qkv check the-fat-cat my-work/             every step that is there\n"
        "  qkv check the-fat-cat scores.csv           one step\n"
        "  qkv check two-heads my-work --gradients    the gradients from d_output, too\n"
        "  qkv check the-fat-cat my-work --no-answers where to look, not what to write\n"
        "  qkv check the-fat-cat class/* --summary csv > marks.csv\n",
    .setup = set_up_command<CheckCommandOptions, declare, run>,
};

}  // namespace qkv::inline cli
