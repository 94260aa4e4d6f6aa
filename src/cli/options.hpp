#pragma once

#include <CLI/CLI.hpp>

#include "check/intake/step_names.hpp"
#include "cli/command.hpp"
#include "interactive/walkthrough.hpp"

namespace qkv::inline cli {

/// Sets a command up: declares its options, and returns what runs it with them.
template <class Options, void (*declare)(CLI::App&, Options&),
          int (*run)(const Options&, const CommonOptions&)>
std::function<int()> set_up_command(CLI::App& app, const CommonOptions& common) {
  const auto options = std::make_shared<Options>();
  declare(app, *options);
  return [options, &common] { return run(*options, common); };
}

/// The group of options that concern models only: help lists it last.
inline constexpr auto model_group = "Trained models";

/// One of these names. The error message suggests the nearest, or lists all.
CLI::Validator one_of(const std::vector<std::string>& choices);

/// An integer from `fewest` up, of 32 bits at most.
CLI::Range count_from(std::int64_t fewest);

/// Displayed decimals: at most as many as a double has.
CLI::Range decimals();

/// Declares an option with a value, which help calls `type`. If it may be given several times, it
/// takes one value each time.
template <class Value>
CLI::Option* add_value(CLI::App& app, const std::string& name, Value& value,
                       const std::string& type, const std::string& help) {
  return app.add_option(name, value, help)->type_name(type)->allow_extra_args(false);
}

/// Declares an option whose value is a number in a range.
template <class Number>
CLI::Option* add_number(CLI::App& app, const std::string& name, Number& number,
                        const CLI::Range& range, const std::string& help) {
  return add_value(app, name, number, "N", help)->check(range);
}

/// Returns an error message if a path of the user or a step's name is empty: an unset shell
/// variable.
std::string check_path(const std::string& name);
std::string check_step(const std::string& name);

/// Returns the placeholder of an option's value in help, or an argument's name; empty for a flag.
/// CLI11's type name also tells what validators accept: "N:INT in [0 - 17]", "WHEN:{auto,never}".
std::string placeholder(const CLI::Option& option);

/// Returns what may come next on a command line, one a line, for the scripts in completions/. The
/// last word is being typed. A line that begins with a colon stands for files.
std::string completions(const CLI::App& root, std::vector<std::string> words);

/// The selected lesson or model, and its changes.
struct LessonSelection {
  std::string name;
  LessonChanges changes;
  std::string model;  ///< a model file instead of a lesson; `name` is the same then
  ModelSettings settings;
};

/// Returns LESSON, --text, --set and model options as command-line words.
std::string shell_words(const LessonSelection& lesson);

/// Loads and evaluates the lesson or model with its changes, as far as `wanted` needs. Throws
/// InputError as documented in library.hpp.
LoadedLesson load(const LessonSelection& choice, const RequestedSteps& wanted = {});

/// Declares LESSON, --text, --set, --model and model options.
void add_lesson_options(CLI::App& app, LessonSelection& choice);

/// Declares --model and model options only.
void add_model_options(CLI::App& app, LessonSelection& choice);

/// The steps that a command is about, by name or number: some, or a range; empty for all.
struct StepChoice {
  std::vector<std::string> steps;
  std::string from;
  std::string to;
};

/// The scheme and the maps of a program's names, as typed.
struct NameChoice {
  std::optional<std::string> scheme;
  std::vector<std::string> maps;
};

/// Declares --map and --names.
void add_name_options(CLI::App& app, NameChoice& choice);

/// Returns these options with their maps read, also from files. Throws InputError for a line of a
/// file that is no map.
NameOptions names_of(const NameChoice& choice);

/// Declares --step, --from and --to.
void add_step_options(CLI::App& app, StepChoice& choice);

/// Returns the range from --from to --to; without one of them, it ends where `all` does.
StepRange range_of(const Trace& trace, const StepChoice& choice, StepRange all);

/// The part of a lesson that a worksheet asks for.
struct PartChoice : StepChoice {
  std::optional<std::size_t> head;  ///< from 1
  std::string row;
};

/// Declares --step, --from, --to, --head and --row.
void add_part_options(CLI::App& app, PartChoice& choice);

/// Returns the request of that part. Throws InputError if the lesson has no such step or head.
WorksheetRequest worksheet_request(const PartChoice& choice, const Trace& trace);

/// Declares --head: the head to show.
void add_head_option(CLI::App& app, std::optional<std::size_t>& head);

/// Returns the index of a head's number, from 1. Throws InputError if no step has it.
std::optional<std::size_t> head_from(std::optional<std::size_t> number, const Trace& trace);

/// Declares --digits: displayed decimals.
void add_digits_option(CLI::App& app, int& digits);

}  // namespace qkv::inline cli
