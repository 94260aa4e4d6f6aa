#include "cli/options.hpp"

namespace qkv::inline cli {
namespace {

// A command line up to the word that is being typed.
struct TypedLine {
  const CLI::App* command = nullptr;       ///< nullptr if there is none yet
  const CLI::Option* expects = nullptr;    ///< the option whose value comes next
  std::vector<const CLI::Option*> values;  ///< the arguments that may come next
  std::string lesson;                      ///< empty if none is named
};

// The option of a command, or of every command, that a word such as "--step=scores" names.
const CLI::Option* option_in(const CLI::App& root, const CLI::App* command,
                             const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  const CLI::Option* own = command ? command->get_option_no_throw(name) : nullptr;
  return own ? own : root.get_option_no_throw(name);
}

void add_argument(const std::string& word, TypedLine& line) {
  if (line.values.empty()) return;
  const CLI::Option& argument = *line.values.front();
  if (placeholder(argument) == "LESSON") line.lesson = word;
  if (argument.get_expected_max() == 1) line.values.erase(line.values.begin());
}

// Nothing if the words name no command of qkv.
std::optional<TypedLine> line_of(const CLI::App& root, const std::vector<std::string>& words) {
  TypedLine line;
  for (const std::string& word : words) {
    if (line.expects) {
      line.expects = nullptr;
    } else if (word.starts_with('-')) {
      const CLI::Option* option = option_in(root, line.command, word);
      const bool takes_value = option && option->get_type_size() != 0;
      if (takes_value && word.find('=') == word.npos) line.expects = option;
    } else if (!line.command) {
      const auto is_named = [&](const CLI::App* one) { return one->get_name() == word; };
      const std::vector<const CLI::App*> named = root.get_subcommands(is_named);
      if (named.empty()) return {};
      line.command = named.front();
      line.values = line.command->get_options(
          [](const CLI::Option* option) { return option->get_positional(); });
    } else {
      add_argument(word, line);
    }
  }
  return line;
}

std::vector<std::string> lesson_names() {
  return mapped<std::string>(built_in_lessons(), &BuiltInLesson::name);
}

// The steps of the lesson on the line, or of the first lesson if there is none. None if it has
// faults: nobody reads a message here.
std::vector<std::string> step_names(const TypedLine& line, std::string_view ending) {
  try {
    const std::string lesson = line.lesson.empty() ? lesson_names().front() : line.lesson;
    return mapped(find_lesson(lesson).lesson.recipe.steps,
                  [&](const StepRecipe& step) { return step.name + std::string(ending); });
  } catch (const InputError&) {
    return {};
  }
}

// The choices that a type name tells: "WHEN:{auto,always,never}".
std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find(":{");
  if (begin == type.npos) return {};
  return CLI::detail::split(type.substr(begin + 2, type.size() - begin - 3), ',');
}

std::vector<std::string> values_of(const CLI::Option& option, const TypedLine& line) {
  std::vector<std::string> choices = choices_of(option);
  if (!choices.empty()) return choices;
  const std::string kind = placeholder(option);
  std::vector<std::string> lessons = lesson_names();
  if (kind == "LESSON") lessons.emplace_back(":lessons");
  if (kind == "A" || kind == "B") lessons.emplace_back(":files");
  if (kind == "LESSON" || kind == "A" || kind == "B") return lessons;
  if (kind == "STEP") return step_names(line, "");
  if (kind == "CELL") return step_names(line, "[");
  if (kind == "FILE" || kind == "PATH") return {":files"};
  if (kind == "DIR") return {":directories"};
  return {};
}

// "--digits" and, after a tab, the first line of its help.
std::vector<std::string> option_lines(const CLI::App& root, const CLI::App* command) {
  std::vector<std::string> lines;
  for (const CLI::App* app : {command, &root}) {
    if (app == nullptr) continue;
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_positional() || option->get_group().empty()) continue;  // hidden
      if (app == &root && command && option == root.get_help_ptr()) continue;
      const std::string& help = option->get_description();
      for (const std::string& name : CLI::detail::split(option->get_name(false, true), ',')) {
        lines.push_back(fmt::format("{}\t{}", name, help.substr(0, help.find('\n'))));
      }
    }
  }
  return lines;
}

// bash cuts --step=scores in three words.
std::vector<std::string> joined_at_equals(const std::vector<std::string>& words) {
  std::vector<std::string> joined;
  bool goes_on = false;
  for (const std::string& word : words) {
    if (!joined.empty() && (goes_on || word == "=")) {
      joined.back() += word;
    } else {
      joined.push_back(word);
    }
    goes_on = word == "=";
  }
  return joined;
}

// Of "--step=sco" what is typed is "sco".
std::vector<std::string> candidates(const CLI::App& root, const TypedLine& line,
                                    std::string& typed) {
  if (line.expects) return values_of(*line.expects, line);
  const std::size_t equals = typed.find('=');
  if (typed.starts_with("--") && equals != typed.npos) {
    const CLI::Option* option = option_in(root, line.command, typed);
    typed.erase(0, equals + 1);
    return option ? values_of(*option, line) : std::vector<std::string>();
  }
  if (typed.starts_with('-')) return option_lines(root, line.command);
  if (!line.command) {
    return mapped(root.get_subcommands([](const CLI::App*) { return true; }),
                  [](const auto* app) { return app->get_name() + "\t" + app->get_description(); });
  }
  if (line.values.empty()) return {};
  return values_of(*line.values.front(), line);
}

}  // namespace

std::string completions(const CLI::App& root, std::vector<std::string> words) {
  words = joined_at_equals(words);
  if (words.empty()) return {};
  std::string typed = words.back();
  words.pop_back();
  const std::optional<TypedLine> line = line_of(root, words);
  if (!line) return {};
  const auto lines = filtered(candidates(root, *line, typed), [&](const std::string& one) {
    return one.starts_with(':') || one.starts_with(typed);
  });
  return lines.empty() ? "" : fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace qkv::inline cli
