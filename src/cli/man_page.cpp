#include <fmt/format.h>

#include "cli/generated_files.hpp"
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

std::string option_roff(const DeclaredOption& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += (names.empty() ? "" : ", ") + (option.is_argument ? italic(name) : bold(name));
  }
  if (!option.is_argument && !option.value.name.empty()) names += " " + italic(option.value.name);
  if (option.is_argument && option.repeats) names += " \\&...";
  std::string help = option.help;
  if (option.required && !option.is_argument) help += " (required)";
  if (!option.value.choices.empty() &&
      help.find(option.value.choices.back()) == std::string::npos) {
    help += ": " + fmt::format("{}", fmt::join(option.value.choices, ", "));
  }
  return fmt::format(".TP\n{}\n{}\n", names, roff(help));
}

std::string options_roff(const CommandUsage& command) {
  std::string text;
  for (const DeclaredOption& option : command.options) text += option_roff(option);
  return text;
}

std::string synopsis(const CommandUsage& command) {
  std::string text = ".B qkv " + roff(command.name) + "\n";
  for (const DeclaredOption& option : command.options) {
    if (option.is_argument) {
      const std::string name = italic(option.names.front()) + (option.repeats ? " \\&..." : "");
      text += option.required ? name + "\n" : "[" + name + "]\n";
    } else if (option.required) {
      text += bold(option.preferred_name()) + " " + italic(option.value.name) + "\n";
    }
  }
  return text + "[" + italic("options") + "]\n";
}

std::string command_roff(const CommandUsage& command) {
  return fmt::format(".SS qkv {}\n{}.PP\n{}.\n{}.PP\n.EX\n{}.EE\n", roff(command.name),
                     synopsis(command), roff(command.summary), options_roff(command),
                     roff(command.examples));
}

constexpr std::string_view description =
    ".SH DESCRIPTION\n"
    ".B qkv\n"
    "walks through the attention mechanism of transformers one matrix at a time:\n"
    "tokens, embeddings, queries, keys and values, scores, softmax, context.\n"
    "It explains any cell term by term, writes every matrix to a file,\n"
    "makes worksheets and pages, and checks calculations made by hand:\n"
    "which number is the first wrong one, and which mistake makes just these numbers.\n"
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

constexpr Generated file_kinds[] = {
    {"man", man_page},
    {"complete-bash", bash_completion},
    {"complete-zsh", zsh_completion},
    {"complete-fish", fish_completion},
};

}  // namespace

std::string man_page(const std::vector<CommandUsage>& usage) {
  std::string text = fmt::format(
      ".TH QKV 1 \"\" \"qkv {}\" \"User Commands\"\n.SH NAME\nqkv \\- attention, one matrix at a "
      "time\n.SH SYNOPSIS\n.B qkv\n.I command\n[\\fIarguments\\fR]\n{}",
      roff(QKV_VERSION), description);
  text += ".SH OPTIONS\nEvery command takes these.\n" + options_roff(usage.front());
  text += ".SH COMMANDS\n";
  for (std::size_t c = 1; c < usage.size(); ++c) text += command_roff(usage[c]);
  return text.append(lessons_roff()).append(ending);
}

std::span<const Generated> generated_files() { return file_kinds; }

std::string generated_file(std::string_view name, const std::vector<CommandUsage>& usage) {
  for (const Generated& file : file_kinds) {
    if (file.name == name) return file.write(usage);
  }
  throw std::logic_error("no such file: " + std::string(name));
}

}  // namespace qkv::inline cli
