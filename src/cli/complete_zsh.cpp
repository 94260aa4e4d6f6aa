#include <fmt/format.h>

#include "cli/generate.hpp"

namespace qkv {
namespace {

// Text inside _arguments' own notation, which ends at brackets and colons.
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
  switch (option.value.offer) {
    case Offer::choices: return fmt::format("({})", fmt::join(option.value.choices, " "));
    case Offer::lessons: return "_qkv_lessons";
    case Offer::lessons_and_files: return "_qkv_lessons_and_files";
    case Offer::steps: return "_qkv_steps";
    case Offer::cells: return "_qkv_cells";
    case Offer::files: return "_files";
    case Offer::directories: return "_directories";
    case Offer::nothing: break;
  }
  return " ";
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
                                  plain(std::string(option.says_shortly())), value)) +
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

}  // namespace

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

}  // namespace qkv
