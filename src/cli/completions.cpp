#include <fmt/format.h>

#include "cli/generate.hpp"

namespace qkv {
namespace {

std::string kind_of(const DeclaredOption& option) {
  switch (option.value.offer) {
    case Offer::choices: return fmt::format("choices:{}", fmt::join(option.value.choices, ","));
    case Offer::lessons: return "lessons";
    case Offer::lessons_and_files: return "lessons_and_files";
    case Offer::steps: return "steps";
    case Offer::cells: return "cells";
    case Offer::files: return "files";
    case Offer::directories: return "directories";
    case Offer::nothing: break;
  }
  return option.value.name.empty() ? "flag" : "text";
}

// `--step=steps --no-pause=flag …`, and the kinds of the arguments in order; a + behind the last
// one says that there may be more of it.
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

}  // namespace qkv
