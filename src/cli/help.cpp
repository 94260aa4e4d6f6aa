#include "cli/help.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/command.hpp"
#include "lesson/library.hpp"
#include "text/width.hpp"
#include "text/wrapping.hpp"

namespace qkv {
namespace {

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

// The options of qkv itself, which every command takes.
std::string common_options(const CLI::Formatter& formatter, const CLI::App& root) {
  const auto is_shown = [&](const CLI::Option* option) { return option != root.get_help_ptr(); };
  return laid_out(
      formatter.make_group("Options of every command", false, root.get_options(is_shown)),
      help_column);
}

// Examples are what people look for first.
std::string help_of(const CLI::Formatter& formatter, const CLI::App& command) {
  const auto& name = command.get_name();
  std::string text = laid_out(
      formatter.make_help(&command, "qkv " + name, CLI::AppFormatMode::Normal), help_column);
  text.erase(text.find_last_not_of('\n') + 2);
  const auto declared =
      std::ranges::find(all_commands(), name, [](const Command* one) { return one->name; });
  return fmt::format("Examples:\n{}\n{}", (*declared)->examples, text);
}

}  // namespace

std::string welcome() {
  std::string text =
      "qkv walks through attention, one matrix at a time, and checks yours.\n\n"
      "Type this first:\n"
      "  qkv run the-fat-cat              from a sentence to context vectors\n"
      "  qkv explain the-fat-cat 'scores[head 1,cat,fat]'\n\n"
      "Commands (qkv help COMMAND shows examples):\n";
  for (const Command* command : all_commands()) {
    text += fmt::format("  {:<10} {}\n", command->name, command->summary);
  }
  text = laid_out(text, 13);
  text += "\nLessons:\n";
  for (const BuiltInLesson& lesson : built_in_lessons()) text += fmt::format("  {}\n", lesson.name);
  return text;
}

std::string help_text(const CLI::App& root) {
  CLI::Formatter formatter;
  formatter.column_width(help_column);
  const std::vector<CLI::App*> chosen = root.get_subcommands();
  return (chosen.empty() ? welcome() : help_of(formatter, *chosen.front())) +
         common_options(formatter, root);
}

}  // namespace qkv
