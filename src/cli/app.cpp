#include "cli/options.hpp"
#include "terminal/grid.hpp"
#include "text/unicode.hpp"

namespace qkv::inline cli {
namespace {

// In the order of help.
constexpr std::array commands = {&lessons_command, &run_command,     &explain_command,
                                 &export_command,  &report_command,  &worksheet_command,
                                 &check_command,   &compare_command, &heads_command,
                                 &lint_command,    &new_command,     &params_command};

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

std::string unexpected(const CLI::App& command, const std::string& word) {
  if (!word.starts_with('-')) {
    return fmt::format("\"{}\" is one argument too many (put a text with spaces in quotes)",
                       sanitise(word));
  }
  return fmt::format("{} has no option \"{}\"{}", command.get_name(), sanitise(word),
                     option_hint(command, word));
}

// A word that stands before any command.
std::string unknown_before_command(const CLI::App& root, const std::string& word) {
  if (word.starts_with('-')) {
    return fmt::format("there is no option \"{}\"{}", sanitise(word.substr(0, word.find('='))),
                       option_hint(root, word, "; options of a command stand after it"));
  }
  return fmt::format("there is no command \"{}\"; {}", sanitise(word),
                     did_you_mean(word, {commands, &Command::name}));
}

// CLI11's own words, but for a missing or a second value, which it tells in numbers alone.
std::string in_our_words(const CLI::ParseError& error) {
  const std::string what = error.what();
  const std::string line = what.substr(0, what.find('\n'));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return line;
  return line.substr(0, line.find_first_of(": ")) +
         (line.ends_with(" missing") ? " needs a value" : " takes one value and is written once");
}

/// The message for a usage error, in one line: what to write instead, and where to find help.
std::string usage_error(const CLI::App& root, const CLI::ParseError& error,
                        const std::vector<std::string>& words) {
  const std::vector<CLI::App*> chosen = root.get_subcommands();
  const CLI::App& app = chosen.empty() ? root : *chosen.front();
  const std::vector<std::string> extra = root.remaining(true);
  if (extra.empty()) {
    return fmt::format("{} ({}{} --help shows examples)", in_our_words(error),
                       chosen.empty() ? "" : "qkv ", app.get_name());
  }
  const auto place = std::ranges::find(words, extra.front());
  if (chosen.empty() || place < std::ranges::find(words, app.get_name())) {
    return unknown_before_command(root, extra.front());
  }
  return fmt::format("{} (qkv {} --help shows examples)", unexpected(app, extra.front()),
                     app.get_name());
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
    result += hanging_lines(line.substr(0, from), wrapped(line.substr(from), width - from), from);
  }
  return result;
}

// Without the footer, which holds the examples: they come first. Placeholders are short.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(help_column); }
  std::string make_footer(const CLI::App*) const override { return {}; }
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text = CLI::Formatter::make_option_opts(option);
    const std::string type = option->get_type_name();
    if (option->get_type_size() == 0 || type.empty()) return text;
    return text.replace(0, type.size() + 1,
                        option->get_positional() ? "" : " " + placeholder(*option));
  }
};

// Examples come first: people look for them first.
std::string help_of(const CLI::App& command) {
  std::string text = laid_out(
      HelpFormatter().make_help(&command, "qkv " + command.get_name(), CLI::AppFormatMode::Normal),
      help_column);
  text.erase(text.find_last_not_of('\n') + 2);
  for (std::size_t at = 0; (at = text.find("\n\n\n")) != text.npos;) text.erase(at, 1);
  return fmt::format("Examples:\n{}\n{}", command.get_footer(), text);
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
         "Type this first: qkv run the-fat-cat     (qkv help COMMAND shows examples)\n";
}

/// The help of the chosen command, examples first, or of qkv itself; then the global options, which
/// every command takes.
std::string help_text(const CLI::App& root) {
  const std::vector<CLI::App*> chosen = root.get_subcommands();
  const auto is_shown = [&](const CLI::Option* option) { return option != root.get_help_ptr(); };
  const std::string common =
      HelpFormatter().make_group("Options of every command", false, root.get_options(is_shown));
  return (chosen.empty() ? welcome() : help_of(*chosen.front())) + laid_out(common, help_column);
}

// An error message, or empty if `text` is a size.
std::string check_memory(const std::string& text) {
  constexpr std::size_t least = std::size_t{16} << 20;
  const auto size = parse_size(text);
  if (!size) return fmt::format("\"{}\" is not a size; write it like 8G or 512M", text);
  return *size < least ? fmt::format("{} is too little; write 16M or more", text) : "";
}

struct GlobalOptions {
  CommonOptions common;
  std::size_t threads = 0;  ///< 0: all cores
  bool verbose = false;
};

void declare(CLI::App& app, GlobalOptions& own) {
  app.set_version_flag("--version", "qkv " QKV_VERSION);
  app.add_flag("--verbose", own.verbose, "With --version: also the libraries in it");
  static const std::vector<std::string> names = {"auto", "always", "never"};  // of ColourMode
  const auto choose = [&common = own.common](const std::string& name) {
    common.colour = static_cast<ColourMode>(std::ranges::find(names, name) - names.begin());
  };
  app.add_option_function<std::string>(
         "--color", choose, fmt::format("Shade numbers by their size: {}", fmt::join(names, ", ")))
      ->type_name("WHEN")
      ->check(one_of(names));
  add_value(app, "--memory", own.common.memory, "SIZE",
            "The most memory to use (8G, or less on a small machine)")
      ->check(check_memory);
  app.add_flag("--allow-outside-files", own.common.outside_files,
               "Let a lesson read files outside its own directory");
  add_number(app, "--threads", own.threads, CLI::Range(1, 64),
             "Threads for large matrices (all cores)");
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

// `--model FILE` replaces an argument: FILE becomes LESSON, the first, or B of compare, the last.
std::vector<std::string> with_model_as_lesson(const CLI::App& app, std::vector<std::string> words) {
  const auto found = std::ranges::find_if(words, [](const std::string& word) {
    return word == "--model" || word.starts_with("--model=");
  });
  const auto command = std::ranges::find_if(
      words, [](const std::string& word) { return contains(commands, word, &Command::name); });
  if (found == words.end() || command == words.end()) return words;
  const CLI::App* chosen = app.get_subcommand(*command);
  const bool apart = *found == "--model";
  if (!chosen->get_option_no_throw("--model") || (apart && found + 1 == words.end())) return words;
  std::string file = apart ? *(found + 1) : found->substr(found->find('=') + 1);
  const bool is_first = chosen->get_option_no_throw("LESSON") != nullptr;
  words.insert(is_first ? command + 1 : words.end(), std::move(file));
  return words;
}

// Declares the commands, and the options of those that the words may request.
std::map<std::string, std::function<int()>> set_up(CLI::App& app, const CommonOptions& common,
                                                   const std::vector<std::string>& words) {
  std::map<std::string, std::function<int()>> ready;
  for (const Command* command : commands) {
    CLI::App* sub = app.add_subcommand(std::string(command->name), std::string(command->summary));
    sub->fallthrough()->footer(std::string(command->examples));
    // To declare the options of commands that no word can request takes a fifth of the start-up.
    if (contains(words, command->name)) ready[sub->get_name()] = command->setup(*sub, common);
  }
  return ready;
}

// Returns help or version, if the words ask for one.
std::optional<std::string> parse(CLI::App& app, const std::vector<std::string>& words) {
  try {
    std::vector<std::string> reversed = with_model_as_lesson(app, words);
    std::ranges::reverse(reversed);  // as CLI11 takes them
    app.parse(std::move(reversed));
    return {};
  } catch (const CLI::CallForVersion& version) {
    // Options after the failing one have no values yet.
    const bool is_verbose = contains(words, "--verbose");
    std::string text = std::string(version.what()) + "\n";
    if (is_verbose) text += "with " QKV_LIBRARIES "\n";
    return laid_out(text, 0);
  } catch (const CLI::CallForHelp&) {
    const std::vector<std::string> extra = app.remaining();
    if (extra.empty() || !app.get_subcommands().empty()) return help_text(app);
    throw InputError(unknown_before_command(app, extra.front()));
  } catch (const CLI::ParseError& error) {
    throw InputError(usage_error(app, error, words));
  }
}

// What qkv prints of itself, if the words ask for that.
std::optional<std::string> text_about_itself(CLI::App& app, const GlobalOptions& own,
                                             const std::vector<std::string>& words) {
  if (!words.empty() && words.front() == "--complete") {
    apply(own.common);
    return completions(app, {words.begin() + 1, words.end()});
  }
  std::optional<std::string> text = parse(app, words);
  if (!text && own.verbose) {
    throw InputError("--verbose requires --version: qkv --version --verbose");
  }
  if (!text && app.get_subcommands().empty()) text = welcome();
  return text;
}

}  // namespace

int run_app(int argc, char** argv) {
  const std::vector<std::string> words = arguments_of(argc, argv);
  GlobalOptions own;
  CLI::App app("qkv walks through attention one matrix at a time.", "qkv");
  declare(app, own);
  const auto ready = set_up(app, own.common, words);
  if (const auto text = text_about_itself(app, own, words)) {
    print(*text);
    return 0;
  }
  set_thread_limit(own.threads);
  apply(own.common);
  return ready.at(app.get_subcommands().front()->get_name())();
}

}  // namespace qkv::inline cli
