#include "check/grading/advice.hpp"
#include "cli/options.hpp"
#include "terminal/model_views.hpp"
#include "text/unicode.hpp"

namespace qkv::inline cli {
namespace {

struct LintOptions {
  std::vector<std::string> files;
  bool mistakes = false;
  bool strict = false;
  bool operations = false;
};

// Adds advice for lessons of hand-work size; undetectable mistakes also on request.
void add_advice(const Lesson& lesson, const LintOptions& options, std::vector<Fault>& faults) {
  const Trace trace = evaluate(lesson.recipe);
  const bool by_hand = is_for_hand_work(trace);
  if (by_hand || options.mistakes)
    std::ranges::move(undetectable_mistakes(lesson, trace), std::back_inserter(faults));
  if (by_hand) std::ranges::move(long_numbers(lesson, trace), std::back_inserter(faults));
  std::ranges::stable_sort(faults, {}, &Fault::place);
}

// Prints each fault, but one line for a label that no row or column has any more, as after a change
// of the text: with the first place, and all lines.
void print_faults(const Lesson& lesson, const std::vector<Fault>& faults) {
  constexpr std::size_t few = 3;
  const auto missing_label = [](const Fault& fault) {
    const std::size_t at = fault.message.find(" is called \"");
    return at == std::string::npos ? std::string() : fault.message.substr(at);
  };
  std::map<std::string, std::vector<const Fault*>> same;
  for (const Fault& fault : faults) same[missing_label(fault)].push_back(&fault);
  for (const Fault& fault : faults) {
    const std::vector<const Fault*>& all = same[missing_label(fault)];
    const bool is_grouped = !missing_label(fault).empty() && all.size() > few;
    if (is_grouped && all.front() != &fault) continue;
    print(sanitise(fault_line(lesson, fault)));
    std::set<std::size_t> lines;
    for (std::size_t i = 0; is_grouped && i < all.size(); ++i) lines.insert(all[i]->place.line);
    print(is_grouped ? fmt::format(" (in lines {})\n", fmt::join(lines, ", ")) : "\n");
  }
}

// Prints the faults of one lesson; true if there are none but advice that is not strict.
bool lint_one(const std::string& file, const LintOptions& options) {
  const ParsedLesson reading = find_lesson(file);
  std::vector<Fault> faults = lint(reading);
  const bool good = !contains(faults, Fault::Kind::error, &Fault::kind);
  if (good) add_advice(reading.lesson, options, faults);
  print_faults(reading.lesson, faults);
  if (faults.empty()) print(sanitise(file) + ": good\n");
  return good && (faults.empty() || !options.strict);
}

int run(const LintOptions& options, const CommonOptions& common) {
  if (options.operations) {
    print(operations_text(output_terminal(common.colour).width));
    return 0;
  }
  if (options.files.empty()) {
    throw InputError(
        "lint needs a lesson: qkv lint my-lesson.toml (qkv new writes one to start from)");
  }
  bool good = true;
  MessageLimit failures;
  for (const std::string& file : options.files) {
    try {
      good = lint_one(file, options) && good;
    } catch (const InputError& error) {  // missing or not text: the other files are still checked
      failures.print_error(error.what());
      good = false;
    }
  }
  failures.print_rest("files that can't be read");
  return good ? 0 : 2;
}

void declare(CLI::App& app, LintOptions& options) {
  app.add_option("FILE", options.files, "Lesson files, or names of built-in lessons");
  app.add_flag("--ops", options.operations,
               "List the operations that a step can have, with operands and options");
  app.add_flag("--strict", options.strict, "Advice counts as a fault: exit status 2");
  app.add_flag("--mistakes", options.mistakes,
               "Report where a known mistake gives the right numbers, in large lessons, too (in "
               "small ones this is always done)");
}

}  // namespace

constinit const Command lint_command{
    .name = "lint",
    .summary = "validates lesson files: every fault with its place and what to write instead",
    .examples =
        "  qkv lint my-lesson.toml\n"
        "  qkv lint lessons/*.toml --strict     advice counts, too\n"
        "  qkv lint --ops                       what a step of a lesson can do\n",
    .setup = set_up_command<LintOptions, declare, run>,
};

}  // namespace qkv::inline cli
