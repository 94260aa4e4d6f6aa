#include <fmt/format.h>

#include <algorithm>

#include "cli/options.hpp"
#include "lesson/library.hpp"
#include "text/unicode.hpp"

namespace qkv::inline cli {
namespace {

// Escapes text for roff: no requests, and dashes stay ASCII, so that they can be copied.
std::string roff(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto [code, bytes] = decode_code_point(text, at);
    const bool starts_line = result.empty() || result.back() == '\n';
    if (starts_line && (code == '.' || code == '\'')) result += "\\&";
    switch (code) {
      case '\\': result += "\\e"; break;
      case '-': result += "\\-"; break;
      case '\'': result += "\\(aq"; break;
      case '`': result += "\\(ga"; break;
      case '^': result += "\\(ha"; break;
      case '~': result += "\\(ti"; break;
      default:
        result += code < 0x80 ? std::string(1, static_cast<char>(code))
                              : fmt::format("\\[u{:04X}]", code);
    }
    at += bytes;
  }
  return result;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string option_roff(const CLI::Option& option) {
  const bool is_argument = option.get_positional();
  std::string names;
  for (const std::string& name : option_names(option)) {
    names += (names.empty() ? "" : ", ") + (is_argument ? italic(name) : bold(name));
  }
  const std::string value = placeholder(option);
  if (!is_argument && !value.empty()) names += " " + italic(value);
  if (is_argument && option.get_expected_max() > 1) names += " \\&...";
  std::string help = option.get_description();
  if (option.get_required() && !is_argument) help += " (required)";
  return fmt::format(".TP\n{}\n{}\n", names, roff(help));
}

// Arguments come first, options of models last. Neither hidden ones nor the help of a command.
std::vector<const CLI::Option*> shown_options(const CLI::App& app) {
  std::vector<const CLI::Option*> shown = app.get_options([&](const CLI::Option* option) {
    return !option->get_group().empty() && (!app.get_parent() || option != app.get_help_ptr());
  });
  std::ranges::stable_sort(shown, {}, [](const CLI::Option* option) {
    return option->get_positional() ? 0 : option->get_group() == model_group ? 2 : 1;
  });
  return shown;
}

std::string options_roff(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : shown_options(command)) text += option_roff(*option);
  return text;
}

std::string synopsis(const CLI::App& command) {
  std::string text = ".B qkv " + roff(command.get_name()) + "\n";
  for (const CLI::Option* option : shown_options(command)) {
    const std::string value = italic(placeholder(*option));
    if (option->get_positional()) {
      const std::string name = value + (option->get_expected_max() > 1 ? " \\&..." : "");
      text += option->get_required() ? name + "\n" : "[" + name + "]\n";
    } else if (option->get_required()) {
      text += bold(option_names(*option).back()) + " " + value + "\n";
    }
  }
  return text + "[" + italic("options") + "]\n";
}

std::string command_roff(const CLI::App& command) {
  return fmt::format(".SS qkv {}\n{}.PP\n{}.\n{}.PP\n.EX\n{}.EE\n", roff(command.get_name()),
                     synopsis(command), roff(command.get_description()), options_roff(command),
                     roff(command.get_footer()));
}

constexpr std::string_view description =
    ".SH DESCRIPTION\n"
    ".B qkv\n"
    "walks through the attention mechanism of transformers one matrix at a time:\n"
    "tokens, embeddings, queries, keys and values, scores, softmax, context.\n"
    "It explains any cell term by term, writes every matrix to a file,\n"
    "makes worksheets and pages, and checks calculations made by hand.\n"
    "It names the first wrong number and the mistake that makes just these numbers.\n"
    ".PP\n"
    "A\n"
    ".I LESSON\n"
    "is the name of a built\\-in lesson or the path of a lesson file (TOML).\n"
    "A cell is written as\n"
    ".BR scores[3,2] ,\n"
    ".B scores[cat,fat]\n"
    "or\n"
    ".BR \"scores[head 2,3,2]\" ;\n"
    "indices count from 1.\n";

constexpr std::string_view ending =
    ".SH EXIT STATUS\n"
    ".TP\n.B 0\nDone; of\n.BR \"qkv check\" :\nnothing is wrong.\n"
    ".TP\n.B 1\n.B qkv check\nfound a wrong cell or a wrong shape.\n"
    ".TP\n.B 2\nBad usage, bad input, or a failed write.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n.B COLUMNS\nHow wide the output may be; otherwise as wide as the terminal.\n"
    ".TP\n.B NO_COLOR\nIf set and not empty, numbers are not shaded unless\n.B \\-\\-color\nsays "
    "so.\n";

std::string lessons_roff() {
  std::string text = ".SH LESSONS\n";
  for (const BuiltInLesson& built_in : built_in_lessons()) {
    const Lesson lesson = find_lesson(std::string(built_in.name)).lesson;
    text += fmt::format(".TP\n{}\n{}\n", bold(lesson.name), roff(lesson.title));
  }
  return text;
}

}  // namespace

std::string man_page(const CLI::App& root) {
  std::string text = fmt::format(
      ".TH QKV 1 \"\" \"qkv {}\" \"User Commands\"\n.SH NAME\nqkv \\- attention, one matrix at a "
      "time\n.SH SYNOPSIS\n.B qkv\n.I command\n[\\fIarguments\\fR]\n{}",
      roff(QKV_VERSION), description);
  text += ".SH OPTIONS\nEvery command takes these.\n" + options_roff(root);
  text += ".SH COMMANDS\n";
  for (const CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; })) {
    text += command_roff(*command);
  }
  return text.append(lessons_roff()).append(ending);
}

}  // namespace qkv::inline cli
