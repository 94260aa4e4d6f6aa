#include "cli/app.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <deque>
#include <optional>

#include "cli/bill.hpp"
#include "cli/command.hpp"
#include "cli/generate.hpp"
#include "cli/help.hpp"
#include "cli/option_list.hpp"
#include "cli/usage_error.hpp"
#include "cli/values.hpp"
#include "lesson/file/own_directory.hpp"
#include "tensor/memory.hpp"
#include "tensor/parallel.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

constexpr std::array commands = {&lessons_command, &run_command,     &explain_command,
                                 &export_command,  &report_command,  &worksheet_command,
                                 &check_command,   &compare_command, &heads_command,
                                 &lint_command,    &new_command,     &params_command};

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

// The options that every command takes, and what they say.
struct OwnOptions {
  Common common;
  std::size_t threads = 0;  ///< 0: all cores
  bool verbose = false;
  std::string generate;  ///< the file to print
};

void declare(OptionList& app, OwnOptions& own) {
  app.add_help_and_version(std::string("qkv ") + QKV_VERSION);
  std::vector<std::string> names;
  for (const ColourName& colour : colour_names) names.emplace_back(colour.name);
  app.add_flag("--verbose", own.verbose,
               "With --version: the libraries in it, as an SPDX document");
  const auto choose = [&common = own.common](const std::string& name) {
    for (const ColourName& colour : colour_names) {
      if (colour.name == name) common.colour = colour.choice;
    }
  };
  app.add_option_function<std::string>(
      "--color", choose, one_of("WHEN", names),
      fmt::format("Shade numbers by their size: {}", fmt::join(names, ", ")));
  app.add_option("--memory", own.common.memory, {.name = "SIZE", .refusal = refusal_of_memory},
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

// What bounds every lesson, whichever command reads it.
void apply(const Common& common) {
  if (const auto wanted = size_from(common.memory)) {
    set_memory_limit(*wanted, LimitOf::option);
  } else {
    set_usual_memory_limit();
  }
  if (common.outside_files) allow_outside_files();
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

// A command with its options, declared on the parser's own.
struct Ready {
  Ready(const Command& which, CLI::App& app, const Common& common)
      : command(which), options(app), run(which.setup(options, common)) {}

  const Command& command;
  OptionList options;
  std::function<int()> run;
};

// Those that the words may ask for. A deque never moves what a command keeps of its options.
std::deque<Ready> set_up(CLI::App& app, const Common& common,
                         const std::vector<std::string>& words) {
  std::deque<Ready> ready;
  for (const Command* command : commands) {
    CLI::App* sub = app.add_subcommand(std::string(command->name), std::string(command->summary));
    sub->fallthrough();
    if (may_need(*command, words)) ready.emplace_back(*command, *sub, common);
  }
  return ready;
}

std::vector<CommandUsage> usage_of(const OptionList& own, const std::deque<Ready>& ready) {
  std::vector<CommandUsage> usage = {{"", "", "", own.declared()}};
  for (const auto& [command, options, run] : ready) {
    usage.push_back({std::string(command.name), std::string(command.summary),
                     std::string(command.examples), options.declared()});
  }
  return usage;
}

// What is printed in place of a command's work, if that is what the words ask for.
std::optional<std::string> parse(CLI::App& app, std::vector<std::string> words) {
  refuse_unknown_command(app, words);
  try {
    words = with_model_as_lesson(std::move(words));
    std::ranges::reverse(words);  // as the parser wants them
    app.parse(std::vector<std::string>(words));
    return {};
  } catch (const CLI::CallForVersion& version) {
    // Options after this one have no values yet.
    const bool is_verbose = std::ranges::find(words, "--verbose") != words.end();
    return is_verbose ? std::string(bill_of_materials()) : std::string(version.what()) + "\n";
  } catch (const CLI::CallForHelp&) {
    return help_text(app);
  } catch (const CLI::ParseError& error) {
    throw InputError(usage_error(app, error));
  }
}

}  // namespace

std::span<const Command* const> all_commands() { return commands; }

int run_app(int argc, char** argv) {
  const std::vector<std::string> words = words_of(argc, argv);
  OwnOptions own;
  CLI::App app("qkv walks through attention one matrix at a time.", "qkv");
  OptionList own_options(app);
  declare(own_options, own);
  const std::deque<Ready> ready = set_up(app, own.common, words);
  std::optional<std::string> told = parse(app, words);
  if (!told && own.verbose) {
    throw InputError("--verbose goes with --version: qkv --version --verbose");
  }
  use_threads(own.threads);
  if (!told && !own.generate.empty()) {
    told = generated_file(own.generate, usage_of(own_options, ready));
  }
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  if (!told && chosen.empty()) told = welcome();
  if (told) {
    print(*told);
    return 0;
  }
  apply(own.common);
  const auto command = std::ranges::find_if(
      ready, [&](const Ready& one) { return one.command.name == chosen.front()->get_name(); });
  confine(command->command.files);
  return command->run();
}

}  // namespace qkv
