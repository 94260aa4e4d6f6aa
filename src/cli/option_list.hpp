#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace qkv::inline cli {

/// What a shell can suggest for a value.
enum class Completion {
  nothing,
  choices,
  lessons,
  lessons_and_files,
  steps,
  cells,
  files,
  directories
};

/// Returns an error message, or empty if the value is valid.
using ValueCheck = std::function<std::string(std::string&)>;

/// The type of an option's or argument's value, for help, man page, completions and messages.
struct ValueType {
  std::string name = {};  ///< the placeholder in help: "FILE"
  Completion completion = Completion::nothing;
  std::vector<std::string> choices = {};  ///< the only valid values, if not empty
  ValueCheck validate = {};               ///< empty if any value is valid
};

/// A value that is one of these names; the error message names the nearest, or all.
ValueType one_of(std::string name, std::vector<std::string> choices);

/// An integer from `fewest` to `most`.
ValueType whole_number(std::uint64_t fewest, std::uint64_t most);

/// Displayed decimals: at most as many as a double has.
ValueType decimals();

/// A number from 0 to 1.
ValueType fraction_value();

/// Files of the user. An empty name is refused: it is an unset shell variable.
ValueType file_value();
ValueType directory_value();
ValueType path_value();

/// A lesson's name or file; a step of the lesson; a cell of one of its matrices.
ValueType lesson_value();
ValueType step_value();
ValueType cell_value();

/// An option or argument as declared: the data for help, man page and completions.
struct DeclaredOption {
  std::vector<std::string> names;  ///< "-o", "--output"; for an argument "LESSON"
  ValueType value;                 ///< of a flag: without a name
  std::string help;
  bool is_argument = false;
  bool required = false;
  bool repeats = false;

  /// Returns the last name, which is the long one if there is one.
  std::string_view preferred_name() const { return names.back(); }

  /// Returns the first line of the help text, without the list of choices below it.
  std::string_view first_help_line() const {
    return std::string_view(help).substr(0, help.find('\n'));
  }
};

/// A declared option. Its methods add constraints.
class Option {
 public:
  Option(DeclaredOption declared, CLI::Option& option);

  Option* required();
  Option* excludes(const Option* other);
  Option* needs(const Option* other);

  std::size_t count() const;  ///< how often it was given
  const DeclaredOption& declared() const { return declared_; }

 private:
  DeclaredOption declared_;
  CLI::Option* option_;
};

/// Declares a command's options. Wraps CLI11, whose header takes five seconds to compile.
class OptionList {
 public:
  explicit OptionList(CLI::App& app) : app_(&app) {}

  /// Declares an option ("-o,--output") that sets `value`. The supported types are listed at the
  /// end of option_list.cpp; the option of a vector may be repeated.
  template <class Value>
  Option* add_option(const std::string& names, Value& value, ValueType kind,
                     const std::string& help);

  /// Declares an option with a callback, for std::string or a std::vector of them.
  template <class Value>
  Option* add_option_function(const std::string& names,
                              const std::function<void(const Value&)>& read, ValueType kind,
                              const std::string& help);

  /// Declares an argument, named after its value type. A vector takes all remaining ones.
  template <class Value>
  Option* add_argument(Value& value, ValueType kind, const std::string& help);

  Option* add_flag(const std::string& names, bool& value, const std::string& help);
  /// Declares an older name of a flag, which help, man page and completions leave out.
  void add_hidden_flag(const std::string& names, bool& value);
  Option* add_flag_callback(const std::string& names, const std::function<void()>& given,
                            const std::string& help);

  /// Declares --help and --version, before the command's other options.
  void add_help_and_version(const std::string& version);

  /// Returns all declared options, arguments first.
  std::vector<DeclaredOption> declared() const;

 private:
  Option* keep(DeclaredOption declared, CLI::Option* option);

  CLI::App* app_;
  std::deque<Option> options_;  // a deque never moves its elements
};

}  // namespace qkv::inline cli
