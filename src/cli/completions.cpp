#include <fmt/format.h>

#include "cli/generated_files.hpp"

namespace qkv::inline cli {
namespace {

// What each shell's script calls a kind of value. Choices are listed instead.
struct KindNames {
  std::string_view fish, zsh, bash;
};

KindNames names_of(Completion kind) {
  switch (kind) {
    case Completion::lessons: return {" -a '(__qkv_lessons)'", "_qkv_lessons", "lessons"};
    case Completion::lessons_and_files:
      return {" -a '(__qkv_lessons)'", "_qkv_lessons_and_files", "lessons_and_files"};
    case Completion::steps: return {" -a '(__qkv_steps)'", "_qkv_steps", "steps"};
    case Completion::cells: return {" -a '(__qkv_steps)\"[\"'", "_qkv_cells", "cells"};
    case Completion::files: return {"", "_files", "files"};
    case Completion::directories:
      return {" -a '(__fish_complete_directories)'", "_directories", "directories"};
    case Completion::choices:
    case Completion::nothing: break;
  }
  return {"", " ", "text"};
}

// Quotes for fish, which knows \' and \\ inside single quotes.
std::string in_fish_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string offered(const DeclaredOption& option) {
  return option.value.completion == Completion::choices
             ? fmt::format(" -a '{}'", fmt::join(option.value.choices, " "))
             : std::string(names_of(option.value.completion).fish);
}

// fish completes files only if the value is a file.
std::string_view file_flag(const DeclaredOption& option) {
  const bool files = option.value.completion == Completion::files ||
                     option.value.completion == Completion::lessons_and_files;
  return files ? " -F" : " -f";
}

std::string when(const CommandUsage& command) {
  return command.name.empty() ? ""
                              : fmt::format(" -n '__fish_seen_subcommand_from {}'", command.name);
}

// Completes an argument only at its position, or after it if it may be repeated.
std::string argument_line(const CommandUsage& command, const DeclaredOption& argument,
                          std::size_t place) {
  return fmt::format("complete -c qkv -n '__qkv_is_argument {} {} {}'{}{}\n", command.name, place,
                     argument.repeats ? "-ge" : "-eq", file_flag(argument), offered(argument));
}

std::string option_line(const CommandUsage& command, const DeclaredOption& option) {
  std::string text = "complete -c qkv" + when(command);
  for (const std::string& name : option.names) {
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.value.name.empty()) text += " -r" + std::string(file_flag(option)) + offered(option);
  return text + " -d " + in_fish_quotes(std::string(option.first_help_line())) + "\n";
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

// Escapes text for _arguments' notation, which ends at brackets and colons.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (std::string_view("[]:\\").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

std::string action(const DeclaredOption& option) {
  return option.value.completion == Completion::choices
             ? fmt::format("({})", fmt::join(option.value.choices, " "))
             : std::string(names_of(option.value.completion).zsh);
}

// '--digits=[Decimals to show]:N: ' for each name of an option; '*:PATH:_files' for an argument.
std::string specifications(const DeclaredOption& option) {
  if (option.is_argument) {
    return "      " +
           in_quotes(fmt::format("{}:{}:{}", option.repeats ? "*" : "", plain(option.names.front()),
                                 action(option))) +
           "\n";
  }
  std::string text;
  for (const std::string& name : option.names) {
    const bool takes_value = !option.value.name.empty();
    const std::string_view joint = !takes_value ? "" : name.starts_with("--") ? "=" : "+";
    const std::string value =
        takes_value ? fmt::format(":{}:{}", plain(option.value.name), action(option)) : "";
    text += "      " +
            in_quotes(fmt::format("{}{}{}[{}]{}", option.repeats ? "*" : "", name, joint,
                                  plain(std::string(option.first_help_line())), value)) +
            "\n";
  }
  return text;
}

std::string specifications(const CommandUsage& command) {
  std::string text;
  for (const DeclaredOption& option : command.options) text += specifications(option);
  return text;
}

constexpr std::string_view functions = R"zsh(#compdef qkv
# zsh completion for qkv; made by: qkv --generate complete-zsh

_qkv_lessons() {
  local -a lessons
  lessons=(${(f)"$(_call_program lessons qkv lessons --names 2>/dev/null)"})
  _alternative "lessons:lesson:compadd -a lessons" "files:lesson file:_files -g '*.toml'"
}

_qkv_lessons_and_files() {
  local -a lessons
  lessons=(${(f)"$(_call_program lessons qkv lessons --names 2>/dev/null)"})
  _alternative "lessons:lesson:compadd -a lessons" "files:file:_files"
}

# The names of the steps of the lesson on the line, or of the first lesson where there is none.
_qkv_step_names() {
  local -a lessons
  local word
  lessons=(${(f)"$(_call_program lessons qkv lessons --names 2>/dev/null)"})
  local lesson=$lessons[1]
  for word in $words[2,CURRENT-1]; do
    if [[ $word == *.toml ]] || (( $lessons[(Ie)$word] )); then
      lesson=$word
      break
    fi
  done
  steps=(${(f)"$(_call_program steps qkv lessons ${(q)lesson} --names 2>/dev/null)"})
}

_qkv_steps() {
  local -a steps
  _qkv_step_names
  compadd -a steps
}

_qkv_cells() {
  local -a steps
  _qkv_step_names
  compadd -S '[' -a steps
}

)zsh";

std::string kind_of(const DeclaredOption& option) {
  if (option.value.name.empty()) return "flag";
  return option.value.completion == Completion::choices
             ? fmt::format("choices:{}", fmt::join(option.value.choices, ","))
             : std::string(names_of(option.value.completion).bash);
}

// `--step=steps …`, and the types of the arguments in order; a + after the last: may be repeated.
std::string case_of(const CommandUsage& command) {
  std::string options, arguments;
  for (const DeclaredOption& option : command.options) {
    if (option.is_argument) {
      arguments += fmt::format(" {}{}", kind_of(option), option.repeats ? "+" : "");
      continue;
    }
    for (const std::string& name : option.names) {
      options += fmt::format(" {}={}", name, kind_of(option));
    }
  }
  return fmt::format("    '{}')\n      options+='{}'\n      arguments='{}' ;;\n", command.name,
                     options, arguments);
}

constexpr std::string_view begins =
    R"bash(# bash completion for qkv; made by: qkv --generate complete-bash

# Adds what the command $1 takes: options as NAME=KIND, and the kinds of its arguments.
_qkv_takes() {
  case $1 in
)bash";

constexpr std::string_view ends = R"bash(  esac
}

# Sets kind to what the option $1 takes; empty where there is no such option.
_qkv_kind_of() {
  local option
  kind=
  for option in $options; do
    if [[ ${option%%=*} == "$1" ]]; then
      kind=${option#*=}
      return
    fi
  done
}

# Offers the lines of standard input that begin with what is typed.
_qkv_offer() {
  local line
  while IFS= read -r line; do
    if [[ $line == "$current"* ]]; then COMPREPLY+=("$line"); fi
  done
}

_qkv_offer_files() {
  compopt -o filenames 2>/dev/null
  _qkv_offer < <(compgen "$@" -- "$current")
}

# The names of the built-in lessons, or of the steps of the lesson $1.
_qkv_names() { "$program" lessons "$@" --names 2>/dev/null; }

_qkv() {
  local program=${COMP_WORDS[0]/#\~/$HOME} current=${COMP_WORDS[COMP_CWORD]}
  local options='' arguments='' kind='' command='' lesson='' value_of='' place=0 word i kinds
  COMPREPLY=()
  _qkv_takes ''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if [[ $word == = ]]; then  # bash cuts --step=scores in three
      continue
    elif [[ $value_of ]]; then
      value_of=
    elif [[ $word == -?* ]]; then
      _qkv_kind_of "$word"
      if [[ $kind && $kind != flag ]]; then value_of=$word; fi
    elif [[ ! $command ]]; then
      command=$word
      _qkv_takes "$command"
    else
      kinds=($arguments)
      if [[ ${kinds[place]} == lessons ]]; then lesson=$word; fi
      if [[ ${kinds[place]} != *+ ]]; then place=$((place + 1)); fi
    fi
  done
  if [[ $current == = ]]; then current=; fi

  if [[ $value_of ]]; then
    _qkv_kind_of "$value_of"
  elif [[ $current == -* ]]; then
    _qkv_offer < <(for word in $options; do echo "${word%%=*}"; done)
    return
  elif [[ ! $command ]]; then
    kind=choices:$commands
  else
    kinds=($arguments)
    kind=${kinds[place]%+}
  fi
  case $kind in
    choices:*) _qkv_offer < <(tr , '\n' <<< "${kind#choices:}") ;;
    lessons)
      _qkv_offer < <(_qkv_names)
      _qkv_offer_files -f -X '!*.toml'
      _qkv_offer_files -d ;;
    lessons_and_files)
      _qkv_offer < <(_qkv_names)
      _qkv_offer_files -f ;;
    steps) _qkv_offer < <(_qkv_names "${lesson:-$(_qkv_names | head -n 1)}") ;;
    cells)
      compopt -o nospace 2>/dev/null
      _qkv_offer < <(_qkv_names "$lesson" | sed 's/$/[/') ;;
    files) _qkv_offer_files -f ;;
    directories) _qkv_offer_files -d ;;
  esac
}

complete -F _qkv qkv
)bash";

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

std::string zsh_completion(const std::vector<CommandUsage>& usage) {
  std::string text(functions), commands, cases;
  for (const CommandUsage& command : usage) {
    if (command.name.empty()) continue;
    commands += "    " + in_quotes(command.name + ":" + command.summary) + "\n";
    cases += fmt::format("    {})\n      arguments+=(\n{}      ) ;;\n", command.name,
                         specifications(command));
  }
  return text +
         fmt::format(
             "_qkv_commands() {{\n  local -a commands\n  commands=(\n{}  )\n"
             "  _describe command commands\n}}\n\n"
             "_qkv() {{\n  local curcontext=$curcontext state state_descr line\n"
             "  local -a everywhere arguments\n  typeset -A opt_args\n  everywhere=(\n{}  )\n"
             "  _arguments -C $everywhere ':command:_qkv_commands' '*::argument:->arguments' "
             "&& return\n  [[ $state == arguments ]] || return 1\n"
             "  curcontext=${{curcontext%:*}}-$line[1]:\n"
             "  arguments=($everywhere)\n  case $line[1] in\n{}  esac\n"
             "  _arguments $arguments\n}}\n\n"
             "if [[ $funcstack[1] == _qkv ]]; then _qkv \"$@\"; else compdef _qkv qkv; fi\n",
             commands, specifications(usage.front()), cases);
}

std::string bash_completion(const std::vector<CommandUsage>& usage) {
  std::string text(begins), commands;
  for (const CommandUsage& command : usage) {
    text += case_of(command);
    if (command.name.empty()) continue;
    commands += (commands.empty() ? "" : ",") + command.name;
  }
  text.append(ends);
  const std::string_view place = "choices:$commands";
  return text.replace(text.find(place), place.size(), "choices:" + commands);
}

}  // namespace qkv::inline cli
