#include "cli/app.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <map>

#include "cli/command.hpp"
#include "cli/generate.hpp"
#include "cli/option_list.hpp"
#include "cli/usage_error.hpp"
#include "cli/values.hpp"
#include "lesson/library.hpp"
#include "lesson/own_directory.hpp"
#include "tensor/memory_limit.hpp"
#include "tensor/parallel.hpp"
#include "text/error.hpp"
#include "text/width.hpp"
#include "text/wrapped.hpp"

namespace qkv {
namespace {

constexpr std::array commands = {&lessons_command, &run_command,     &explain_command,
                                 &export_command,  &report_command,  &worksheet_command,
                                 &check_command,   &compare_command, &heads_command,
                                 &lint_command,    &new_command,     &params_command};

constexpr std::size_t help_column = 34;  // where descriptions begin
constexpr std::size_t narrowest = 20;    // a column of text that can still be read

// Lines that are too long go on below where their text begins: under the description of an option,
// or at the margin.
std::string laid_out(const std::string& text, std::size_t column) {
  const std::size_t width = terminal(ColourChoice::never).width;
  std::string result;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t from = line.starts_with("  ") ? column : 0;
    if (qkv::width(line) <= width || line.size() <= from || width < from + narrowest) {
      result += line + "\n";
      continue;
    }
    std::string start = line.substr(0, from);
    for (const std::string& piece : wrapped(line.substr(from), width - from)) {
      result += start + piece + "\n";
      start.assign(from, ' ');
    }
  }
  return result;
}

// Help that starts with what people look for first: examples.
class ExamplesFirst : public CLI::Formatter {
 public:
  ExamplesFirst() { column_width(help_column); }
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const final {
    std::string examples;
    for (const Command* command : commands) {
      if (command->name == app->get_name()) examples = command->examples;
    }
    std::string rest = laid_out(CLI::Formatter::make_help(app, name, mode), help_column);
    rest.erase(rest.find_last_not_of('\n') + 2);
    return (examples.empty() ? rest : fmt::format("Examples:\n{}\n{}", examples, rest)) +
           common_options(*app->get_parent());
  }

  /// What every command takes.
  std::string common_options(const CLI::App& root) const {
    const auto is_shown = [&](const CLI::Option* option) { return option != root.get_help_ptr(); };
    return laid_out(make_group("Options of every command", false, root.get_options(is_shown)),
                    help_column);
  }
};

std::string welcome() {
  std::string text =
      "qkv walks through attention, one matrix at a time, and checks yours.\n\n"
      "Type this first:\n"
      "  qkv run the-fat-cat              from a sentence to context vectors\n"
      "  qkv explain the-fat-cat 'scores[head 1,cat,fat]'\n\n"
      "Commands (qkv help COMMAND shows examples):\n";
  for (const Command* command : commands) {
    text += fmt::format("  {:<10} {}\n", command->name, command->summary);
  }
  text = laid_out(text, 13);
  text += "\nLessons:\n";
  for (const BuiltInLesson& lesson : built_in_lessons()) text += fmt::format("  {}\n", lesson.name);
  return text;
}

struct ColourName {
  std::string_view name;
  ColourChoice choice;
};
constexpr ColourName colour_names[] = {{"auto", ColourChoice::automatic},
                                       {"always", ColourChoice::always},
                                       {"never", ColourChoice::never}};

// Empty where `text` is a size; else why not.
std::string refusal_of_memory(std::string& text) {
  constexpr std::size_t least = std::size_t{16} << 20;
  const auto size = size_from(text);
  if (!size) return fmt::format("\"{}\" is no size; write it like 8G or 512M", text);
  return *size < least ? fmt::format("{} is too little to work with; 16M is the least", text) : "";
}

void add_common(CLI::App& app, Common& common) {
  std::vector<std::string> names;
  for (const ColourName& colour : colour_names) names.emplace_back(colour.name);
  const auto choose = [&common](const std::string& name) {
    for (const ColourName& colour : colour_names) {
      if (colour.name == name) common.colour = colour.choice;
    }
  };
  app.add_option_function<std::string>(
         "--color", choose, fmt::format("Shade numbers by their size: {}", fmt::join(names, ", ")))
      ->check(CLI::Validator(one_of(names), ""))
      ->type_name("WHEN");
  app.add_option("--memory", common.memory,
                 "The most memory to use (8G, or less on a small machine)")
      ->check(CLI::Validator(refusal_of_memory, ""))
      ->type_name("SIZE");
  app.add_flag("--allow-outside-files", common.outside_files,
               "Let a lesson read files outside its own directory");
}

// What bounds every lesson, whichever command reads it.
void apply(const Common& common) {
  const auto wanted = size_from(common.memory);
  set_memory_limit(wanted ? *wanted : memory_limit_of_machine());
  if (common.outside_files) allow_outside_files();
}

void add_threads(CLI::App& app, std::size_t& threads) {
  app.add_option("--threads", threads, "For large matrices: how many threads (all cores)")
      ->check(CLI::Validator(whole_number(1, 64), ""))
      ->type_name("N");
}

void add_generate(CLI::App& app, std::string& wanted) {
  std::vector<std::string> names;
  for (const Generated& file : generated_files()) names.emplace_back(file.name);
  app.add_option("--generate", wanted,
                 fmt::format("Print a file for the system: {}", fmt::join(names, ", ")))
      ->check(CLI::Validator(one_of(names), ""))
      ->type_name("FILE");
}

std::string generated(const std::string& wanted, CLI::App& app) {
  const std::vector<CommandUsage> usage = usage_of(app, commands);
  for (const Generated& file : generated_files()) {
    if (file.name == wanted) return file.write(usage);
  }
  throw std::logic_error("no such file: " + wanted);
}

// `help run` is `run --help`.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

// `--model FILE` stands for LESSON: FILE goes where a command looks for its lesson, first or (the
// side to compare with) last.
std::vector<std::string> with_model_as_lesson(std::vector<std::string> words) {
  constexpr std::string_view option = "--model";
  const auto found = std::ranges::find_if(words, [&](const std::string& word) {
    return word == option || word.starts_with(std::string(option) + "=");
  });
  const auto command = std::ranges::find_if(words, [](const std::string& word) {
    return std::ranges::any_of(commands, [&](const Command* c) { return c->name == word; });
  });
  if (found == words.end() || command == words.end()) return words;
  const bool apart = *found == option;
  if (apart && found + 1 == words.end()) return words;
  std::string file = apart ? *(found + 1) : found->substr(option.size() + 1);
  const auto which =
      std::ranges::find_if(commands, [&](const Command* c) { return c->name == *command; });
  if ((*which)->model == ModelPlace::first) {
    words.insert(command + 1, std::move(file));
  } else if ((*which)->model == ModelPlace::last) {
    words.push_back(std::move(file));
  }
  return words;
}

// Whether the command's options may be asked for; all of them take a fifth of a start.
bool may_need(const Command& command, const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return word == command.name || word.starts_with("--generate");
  });
}

}  // namespace

int run_app(int argc, char** argv) {
  std::vector<std::string> words = words_of(argc, argv);
  Common common;
  CLI::App app("qkv walks through attention one matrix at a time.", "qkv");
  const auto formatter = std::make_shared<ExamplesFirst>();
  app.formatter(formatter);
  app.set_version_flag("--version", std::string("qkv ") + QKV_VERSION);
  add_common(app, common);
  std::size_t threads = 0;
  add_threads(app, threads);
  std::string wanted;
  add_generate(app, wanted);
  std::map<std::string_view, std::function<int()>> runs;
  std::deque<OptionList> options;  // a command may ask how often one was given
  for (const Command* command : commands) {
    CLI::App* sub = app.add_subcommand(std::string(command->name), std::string(command->summary));
    sub->fallthrough();
    if (!may_need(*command, words)) continue;
    runs[command->name] = command->setup(options.emplace_back(*sub), common);
  }
  refuse_unknown_command(app, words);
  try {
    words = with_model_as_lesson(std::move(words));
    std::ranges::reverse(words);  // as the parser wants them
    app.parse(std::move(words));
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + "\n");
    return 0;
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    print(chosen.empty() ? welcome() + formatter->common_options(app)
                         : chosen.front()->help("qkv"));
    return 0;
  } catch (const CLI::ParseError& error) {
    throw InputError(usage_error(app, error));
  }
  use_threads(threads);
  const auto chosen = app.get_subcommands();
  if (!wanted.empty()) {
    print(generated(wanted, app));
    return 0;
  }
  if (chosen.empty()) {
    print(welcome());
    return 0;
  }
  apply(common);
  return runs.at(chosen.front()->get_name())();
}

}  // namespace qkv
