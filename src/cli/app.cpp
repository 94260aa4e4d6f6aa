#include "cli/command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/generated_files.hpp"
#include "cli/option_list.hpp"
#include "lesson/file/given.hpp"
#include "lesson/library.hpp"
#include "tensor/memory.hpp"
#include "tensor/parallel.hpp"
#include "terminal/text_layout.hpp"
#include "text/error.hpp"
#include "text/escape.hpp"
#include "text/suggest.hpp"
#include "text/wrapping.hpp"

namespace qkv::inline cli {
namespace {

// In the order of help.
constexpr std::array commands = {&lessons_command, &run_command,     &explain_command,
                                 &export_command,  &report_command,  &worksheet_command,
                                 &check_command,   &compare_command, &heads_command,
                                 &lint_command,    &new_command,     &params_command};

// Nullptr if there is none.
const Command* command_named(const std::string& name) {
  const auto found = std::ranges::find(commands, name, &Command::name);
  return found == commands.end() ? nullptr : *found;
}

// The nearest option of the command; if there is none, another hint.
std::string option_hint(const CLI::App& app, const std::string& wanted,
                        std::string_view otherwise = {}) {
  std::vector<std::string> names;
  const auto add = [&](const CLI::App& one) {
    for (const CLI::Option* option : one.get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  };
  add(app);
  if (app.get_parent()) add(*app.get_parent());
  const std::string near = suggest(wanted.substr(0, wanted.find('=')), names);
  return near.empty() ? std::string(otherwise) : fmt::format("; did you mean \"{}\"?", near);
}

std::string unexpected(const CLI::App& app, const std::string& word) {
  if (!word.starts_with('-')) {
    return fmt::format("\"{}\" is one word too many; words that belong together go into quotes",
                       sanitise(word));
  }
  const std::string where = app.get_parent() ? app.get_name() + " has" : "there is";
  return fmt::format("{} no option \"{}\"{}", where, sanitise(word), option_hint(app, word));
}

// The command's option of that name, or a global one.
const CLI::Option* option_of(const CLI::App& app, const std::string& name) {
  const CLI::Option* own = app.get_option_no_throw(name);
  return own || !app.get_parent() ? own : app.get_parent()->get_option_no_throw(name);
}

// What each of CLI11's error sentences means. Its first word is the option's name.
struct Sentence {
  std::string_view contains;
  std::string (*text)(const std::string& name, const CLI::Option* option, const std::string& last);
};

// "--output DIR"
std::string with_value(const std::string& name, const CLI::Option* option) {
  const bool has_value = option && !option->get_positional() && !option->get_type_name().empty();
  return has_value ? fmt::format("{} {}", name, option->get_type_name()) : name;
}

constexpr Sentence sentences[] = {
    {" missing",
     [](const std::string& name, const CLI::Option* option, const std::string&) {
       return fmt::format("{} needs a value: {}", name, with_value(name, option));
     }},
    {" At Most ",
     [](const std::string& name, const CLI::Option*, const std::string&) {
       return fmt::format("{} is given more than once; leave one", name);
     }},
    {" is required",
     [](const std::string& name, const CLI::Option* option, const std::string&) {
       return fmt::format("{} is missing", with_value(name, option));
     }},
    {" requires ",
     [](const std::string& name, const CLI::Option*, const std::string& last) {
       return fmt::format("{} goes only with {}; add that", name, last);
     }},
    {" excludes ",
     [](const std::string& name, const CLI::Option*, const std::string& last) {
       return fmt::format("{} and {} don't go together; leave one out", name, last);
     }},
    {"The value ",
     [](const std::string&, const CLI::Option*, const std::string& last) {
       return fmt::format("{} stands alone: it takes no value", last);
     }},
};

std::string in_our_words(const CLI::App& app, const CLI::ParseError& error) {
  const std::string what = error.what();
  const std::string line = what.substr(0, what.find('\n'));
  if (dynamic_cast<const CLI::ValidationError*>(&error)) return line;  // already our own text
  const std::string name = line.substr(0, line.find_first_of(": "));
  const std::string last = line.substr(line.rfind(' ') + 1);
  for (const Sentence& sentence : sentences) {
    if (line.find(sentence.contains) == std::string::npos) continue;
    return sentence.text(name, option_of(app, name), last);
  }
  return line;
}

/// The message for a usage error, in one line: what to write instead, and where to find help.
std::string usage_error(const CLI::App& root, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = root.get_subcommands();
  const CLI::App& app = chosen.empty() ? root : *chosen.front();
  const std::vector<std::string> extra = root.remaining(true);
  const std::string message =
      extra.empty() ? in_our_words(app, error) : unexpected(app, extra.front());
  return fmt::format("{} ({}{} --help shows examples)", message, chosen.empty() ? "" : "qkv ",
                     app.get_name());
}

/// Throws InputError if the first word that is not a global option is not a command.
void refuse_unknown_command(const CLI::App& root, std::span<const std::string> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.starts_with("-")) {
      const std::string name = word.substr(0, word.find('='));
      const CLI::Option* option = root.get_option_no_throw(name);
      if (!option) {
        throw InputError(
            fmt::format("there is no option \"{}\"{}", name,
                        option_hint(root, word, "; options of a command stand behind it")));
      }
      if (name == word && option->get_items_expected_max() > 0) ++i;  // the next is its value
      continue;
    }
    std::vector<std::string> names;
    for (const CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(command->get_name());
    }
    if (std::find(names.begin(), names.end(), word) != names.end()) return;
    throw InputError(
        fmt::format("there is no command \"{}\"; {}", word, did_you_mean(word, names)));
  }
}

constexpr std::size_t help_column = 34;  // where descriptions begin
constexpr std::size_t narrowest = 20;    // still readable

// Wraps long lines with a hanging indent: below the description of an option, or at the margin.
std::string laid_out(const std::string& text, std::size_t column) {
  const std::size_t width = output_terminal(ColourMode::never).width;
  std::string result;
  for (const std::string& line : lines_of(text)) {
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

// The global options, which every command takes.
std::string common_options(const CLI::Formatter& formatter, const CLI::App& root) {
  const auto is_shown = [&](const CLI::Option* option) { return option != root.get_help_ptr(); };
  return laid_out(
      formatter.make_group("Options of every command", false, root.get_options(is_shown)),
      help_column);
}

// Examples come first: people look for them first.
std::string help_of(const CLI::Formatter& formatter, const CLI::App& command) {
  const auto& name = command.get_name();
  std::string text = laid_out(
      formatter.make_help(&command, "qkv " + name, CLI::AppFormatMode::Normal), help_column);
  text.erase(text.find_last_not_of('\n') + 2);
  return fmt::format("Examples:\n{}\n{}", command_named(name)->examples, text);
}

/// The output of `qkv` alone: with the prompt below it, it fits a terminal of 24 lines.
std::string welcome() {
  std::string text =
      "qkv walks through attention, one matrix at a time, and checks yours. Commands:\n";
  for (const Command* command : commands) {
    const std::string_view brief = command->summary.substr(0, command->summary.find_first_of(",:"));
    text += fmt::format("  {:<10} {}\n", command->name, brief);
  }
  return laid_out(text, 13) + "\n" + lesson_names_by_group() +
         "\nType this first: qkv run the-fat-cat     (qkv help COMMAND shows examples)\n";
}

/// The help of the chosen command, examples first, or of qkv itself.
std::string help_text(const CLI::App& root) {
  CLI::Formatter formatter;
  formatter.column_width(help_column);
  const std::vector<CLI::App*> chosen = root.get_subcommands();
  return (chosen.empty() ? welcome() : help_of(formatter, *chosen.front())) +
         common_options(formatter, root);
}

struct ColourName {
  std::string_view name;
  ColourMode choice;
};
constexpr ColourName colour_names[] = {
    {"auto", ColourMode::automatic}, {"always", ColourMode::always}, {"never", ColourMode::never}};

// An error message, or empty if `text` is a size.
std::string check_memory(std::string& text) {
  constexpr std::size_t least = std::size_t{16} << 20;
  const auto size = parse_size(text);
  if (!size) return fmt::format("\"{}\" is no size; write it like 8G or 512M", text);
  return *size < least ? fmt::format("{} is too little to work with; 16M is the least", text) : "";
}

// Global options, with their values.
struct GlobalOptions {
  CommonOptions common;
  std::size_t threads = 0;  ///< 0: all cores
  bool verbose = false;
  std::string generate;  ///< the name of a generated file
};

void declare(OptionList& app, GlobalOptions& own) {
  app.add_help_and_version(std::string("qkv ") + QKV_VERSION);
  std::vector<std::string> names;
  for (const ColourName& colour : colour_names) names.emplace_back(colour.name);
  app.add_flag("--verbose", own.verbose, "With --version: also the libraries in it");
  const auto choose = [&common = own.common](const std::string& name) {
    for (const ColourName& colour : colour_names) {
      if (colour.name == name) common.colour = colour.choice;
    }
  };
  app.add_option_function<std::string>(
      "--color", choose, one_of("WHEN", names),
      fmt::format("Shade numbers by their size: {}", fmt::join(names, ", ")));
  app.add_option("--memory", own.common.memory, {.name = "SIZE", .validate = check_memory},
                 "The most memory to use (8G, or less on a small machine)");
  app.add_flag("--allow-outside-files", own.common.outside_files,
               "Let a lesson read files outside its own directory");
  app.add_option("--threads", own.threads, whole_number(1, 64),
                 "For large matrices: how many threads (all cores)");
  names.clear();
  for (const Generated& file : generated_files()) names.emplace_back(file.name);
  app.add_option("--generate", own.generate, one_of("FILE", names),
                 fmt::format("Print a file for the system: {}", fmt::join(names, ", ")));
}

// Limits for every lesson, whichever command reads it.
void apply(const CommonOptions& common) {
  if (const auto wanted = parse_size(common.memory)) {
    set_memory_limit(*wanted, LimitSource::option);
  } else {
    set_default_memory_limit();
  }
  if (common.outside_files) allow_outside_files();
}

// `help run` is `run --help`.
std::vector<std::string> arguments_of(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  words.emplace_back("--help");
  return words;
}

// `--model FILE` replaces LESSON: FILE becomes the first or (the side of compare) last argument.
std::vector<std::string> with_model_as_lesson(std::vector<std::string> words) {
  constexpr std::string_view option = "--model";
  const auto found = std::ranges::find_if(words, [&](const std::string& word) {
    return word == option || word.starts_with(std::string(option) + "=");
  });
  const auto command = std::ranges::find_if(words, command_named);
  if (found == words.end() || command == words.end()) return words;
  const bool apart = *found == option;
  if (apart && found + 1 == words.end()) return words;
  std::string file = apart ? *(found + 1) : found->substr(option.size() + 1);
  const ModelArgument place = command_named(*command)->model;
  if (place == ModelArgument::first) words.insert(command + 1, std::move(file));
  if (place == ModelArgument::last) words.push_back(std::move(file));
  return words;
}

// Only commands that the words may request are declared: all of them take a fifth of the start-up.
bool may_be_requested(const Command& command, const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return word == command.name || word.starts_with("--generate");
  });
}

struct PreparedCommand {
  PreparedCommand(const Command& which, CLI::App& app, const CommonOptions& common)
      : command(which), options(app), run(which.setup(options, common)) {}

  const Command& command;
  OptionList options;
  std::function<int()> run;
};

// Declares the commands that the words may request. A deque never moves their option values.
std::deque<PreparedCommand> set_up(CLI::App& app, const CommonOptions& common,
                                   const std::vector<std::string>& words) {
  std::deque<PreparedCommand> ready;
  for (const Command* command : commands) {
    CLI::App* sub = app.add_subcommand(std::string(command->name), std::string(command->summary));
    sub->fallthrough();
    if (may_be_requested(*command, words)) ready.emplace_back(*command, *sub, common);
  }
  return ready;
}

std::vector<CommandUsage> usage_of(const OptionList& own,
                                   const std::deque<PreparedCommand>& ready) {
  std::vector<CommandUsage> usage = {{"", "", "", own.declared()}};
  for (const auto& [command, options, run] : ready) {
    usage.push_back({std::string(command.name), std::string(command.summary),
                     std::string(command.examples), options.declared()});
  }
  return usage;
}

// Returns help, version or a generated file, if the words ask for one.
std::optional<std::string> parse(CLI::App& app, std::vector<std::string> words) {
  refuse_unknown_command(app, words);
  try {
    words = with_model_as_lesson(std::move(words));
    std::ranges::reverse(words);  // CLI11 takes them reversed
    app.parse(std::vector<std::string>(words));
    return {};
  } catch (const CLI::CallForVersion& version) {
    // Options after the failing one have no values yet.
    const bool is_verbose = std::ranges::find(words, "--verbose") != words.end();
    std::string text = std::string(version.what()) + "\n";
    if (is_verbose) text += "with " QKV_LIBRARIES "\n";
    return laid_out(text, 0);
  } catch (const CLI::CallForHelp&) {
    return help_text(app);
  } catch (const CLI::ParseError& error) {
    throw InputError(usage_error(app, error));
  }
}

}  // namespace

int run_app(int argc, char** argv) {
  const std::vector<std::string> words = arguments_of(argc, argv);
  GlobalOptions own;
  CLI::App app("qkv walks through attention one matrix at a time.", "qkv");
  OptionList own_options(app);
  declare(own_options, own);
  const std::deque<PreparedCommand> ready = set_up(app, own.common, words);
  std::optional<std::string> text = parse(app, words);
  if (!text && own.verbose) {
    throw InputError("--verbose goes with --version: qkv --version --verbose");
  }
  set_thread_limit(own.threads);
  if (!text && !own.generate.empty()) {
    text = generated_file(own.generate, usage_of(own_options, ready));
  }
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (!text && chosen.empty()) text = welcome();
  if (text) {
    print(*text);
    return 0;
  }
  apply(own.common);
  const auto command = std::ranges::find_if(ready, [&](const PreparedCommand& one) {
    return one.command.name == chosen.front()->get_name();
  });
  return command->run();
}

}  // namespace qkv::inline cli
