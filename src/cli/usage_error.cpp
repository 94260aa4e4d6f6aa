#include "cli/usage_error.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <vector>

#include "text/error.hpp"
#include "text/escape.hpp"
#include "text/suggest.hpp"

namespace qkv {
namespace {

// What was probably meant by an option that the command does not have; else what is said otherwise.
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
  const std::string near = nearest(wanted.substr(0, wanted.find('=')), names);
  return near.empty() ? std::string(otherwise) : fmt::format("; did you mean \"{}\"?", near);
}

std::string unexpected(const CLI::App& app, const std::string& word) {
  if (!word.starts_with('-')) {
    return fmt::format("\"{}\" is one word too many; words that belong together go into quotes",
                       visible(word));
  }
  const std::string where = app.get_parent() ? app.get_name() + " has" : "there is";
  return fmt::format("{} no option \"{}\"{}", where, visible(word), option_hint(app, word));
}

// The command's option of that name, or qkv's own.
const CLI::Option* option_of(const CLI::App& app, const std::string& name) {
  const CLI::Option* own = app.get_option_no_throw(name);
  return own || !app.get_parent() ? own : app.get_parent()->get_option_no_throw(name);
}

// Which sentence of the parser means what. Its first word is the name of the option.
struct Sentence {
  std::string_view contains;
  std::string (*says)(const std::string& name, const CLI::Option* option, const std::string& last);
};

// "--output DIR"
std::string with_value(const std::string& name, const CLI::Option* option) {
  const bool has_value = option && !option->get_positional() && !option->get_type_name().empty();
  return has_value ? fmt::format("{} {}", name, option->get_type_name()) : name;
}

constexpr Sentence sentences[] = {
    {" missing",
     [](const std::string& name, const CLI::Option* option, const std::string&) {
       return fmt::format("{} needs a value: {}", name, with_value(name, option));
     }},
    {" At Most ",
     [](const std::string& name, const CLI::Option*, const std::string&) {
       return fmt::format("{} is given more than once; leave one", name);
     }},
    {" is required",
     [](const std::string& name, const CLI::Option* option, const std::string&) {
       return fmt::format("{} is missing", with_value(name, option));
     }},
    {" requires ",
     [](const std::string& name, const CLI::Option*, const std::string& last) {
       return fmt::format("{} goes only with {}; add that", name, last);
     }},
    {" excludes ",
     [](const std::string& name, const CLI::Option*, const std::string& last) {
       return fmt::format("{} and {} don't go together; leave one out", name, last);
     }},
    {"The value ",
     [](const std::string&, const CLI::Option*, const std::string& last) {
       return fmt::format("{} stands alone: it takes no value", last);
     }},
};

std::string in_our_words(const CLI::App& app, const CLI::ParseError& error) {
  const std::string what = error.what();
  const std::string line = what.substr(0, what.find('\n'));
  if (dynamic_cast<const CLI::ValidationError*>(&error)) return line;  // our own words already
  const std::string name = line.substr(0, line.find_first_of(": "));
  const std::string last = line.substr(line.rfind(' ') + 1);
  for (const Sentence& sentence : sentences) {
    if (line.find(sentence.contains) == std::string::npos) continue;
    return sentence.says(name, option_of(app, name), last);
  }
  return line;
}

}  // namespace

std::string usage_error(const CLI::App& root, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = root.get_subcommands();
  const CLI::App& app = chosen.empty() ? root : *chosen.front();
  const std::vector<std::string> extra = root.remaining(true);
  const std::string message =
      extra.empty() ? in_our_words(app, error) : unexpected(app, extra.front());
  return fmt::format("{} ({}{} --help shows examples)", message, chosen.empty() ? "" : "qkv ",
                     app.get_name());
}

void refuse_unknown_command(const CLI::App& root, std::span<const std::string> words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.starts_with("-")) {
      const std::string name = word.substr(0, word.find('='));
      const CLI::Option* option = root.get_option_no_throw(name);
      if (!option) {
        throw InputError(
            fmt::format("there is no option \"{}\"{}", name,
                        option_hint(root, word, "; options of a command stand behind it")));
      }
      if (name == word && option->get_items_expected_max() > 0) ++i;  // the next is its value
      continue;
    }
    std::vector<std::string> names;
    for (const CLI::App* command : root.get_subcommands([](const CLI::App*) { return true; })) {
      names.push_back(command->get_name());
    }
    if (std::find(names.begin(), names.end(), word) != names.end()) return;
    throw InputError(
        fmt::format("there is no command \"{}\"; {}", word, did_you_mean(word, names)));
  }
}

}  // namespace qkv
