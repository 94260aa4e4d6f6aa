#include <fmt/format.h>

#include "cli/generate.hpp"

namespace qkv {
namespace {

// In single quotes, inside which fish knows \' and \\.
std::string in_fish_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string offered(const DeclaredOption& option) {
  switch (option.value.offer) {
    case Offer::choices: return fmt::format(" -a '{}'", fmt::join(option.value.choices, " "));
    case Offer::lessons:
    case Offer::lessons_and_files: return " -a '(__qkv_lessons)'";
    case Offer::steps: return " -a '(__qkv_steps)'";
    case Offer::cells: return " -a '(__qkv_steps)\"[\"'";
    case Offer::directories: return " -a '(__fish_complete_directories)'";
    case Offer::files:
    case Offer::nothing: break;
  }
  return {};
}

// Whether a value is a file: of anything else fish is to offer no files.
std::string_view files_or_not(const DeclaredOption& option) {
  const bool files =
      option.value.offer == Offer::files || option.value.offer == Offer::lessons_and_files;
  return files ? " -F" : " -f";
}

std::string when(const CommandUsage& command) {
  return command.name.empty() ? ""
                              : fmt::format(" -n '__fish_seen_subcommand_from {}'", command.name);
}

// An argument is offered in its own place among the command's arguments; one that may be repeated
// also after it.
std::string argument_line(const CommandUsage& command, const DeclaredOption& argument,
                          std::size_t place) {
  return fmt::format("complete -c qkv -n '__qkv_is_argument {} {} {}'{}{}\n", command.name, place,
                     argument.repeats ? "-ge" : "-eq", files_or_not(argument), offered(argument));
}

std::string option_line(const CommandUsage& command, const DeclaredOption& option) {
  std::string text = "complete -c qkv" + when(command);
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.value.name.empty())
    text += " -r" + std::string(files_or_not(option)) + offered(option);
  return text + " -d " + in_fish_quotes(std::string(option.says_shortly())) + "\n";
}

constexpr std::string_view fish_functions =
    R"fish(# fish completion for qkv; made by: qkv --generate complete-fish

function __qkv_lessons
    qkv lessons --names 2>/dev/null
    __fish_complete_suffix .toml
end

# The steps of the lesson on the line, or of the first lesson where there is none.
function __qkv_steps
    set -l known (qkv lessons --names 2>/dev/null)
    set -l lesson $known[1]
    for word in (commandline -opc)
        if contains -- $word $known; or string match -q '*.toml' -- $word
            set lesson $word
            break
        end
    end
    qkv lessons $lesson --names 2>/dev/null
end

# Whether the word to come is the argument $argv[2] (from 0) of the command $argv[1], or, with -ge,
# that or a later one. Words behind options that take a value are no arguments.
function __qkv_is_argument
    set -l words (commandline -opc)
    set -e words[1]
    set -l place -1
    set -l value 0
    for word in $words
        if test $value = 1
            set value 0
        else if string match -q -- '-*' $word
            contains -- $word $__qkv_with_value; and set value 1
        else if test $place = -1
            test $word = $argv[1]; or return 1
            set place 0
        else
            set place (math $place + 1)
        end
    end
    test $place -ge 0; and test $place $argv[3] $argv[2]
end

)fish";

}  // namespace

std::string fish_completion(const std::vector<CommandUsage>& usage) {
  std::string text(fish_functions), with_value = " ", lines;
  for (const CommandUsage& command : usage) {
    if (!command.name.empty()) {
      lines += fmt::format("complete -c qkv -n __fish_use_subcommand -f -a {} -d {}\n",
                           command.name, in_fish_quotes(command.summary));
    }
    std::size_t place = 0;
    for (const DeclaredOption& option : command.options) {
      lines += option.is_argument ? argument_line(command, option, place++)
                                  : option_line(command, option);
      if (option.is_argument || option.value.name.empty()) continue;
      for (const std::string& name : option.names) {
        if (with_value.find(" " + name + " ") == std::string::npos) with_value += name + " ";
      }
    }
  }
  return text + "set -g __qkv_with_value" + with_value + "\n\ncomplete -c qkv -f\n" + lines;
}

}  // namespace qkv
