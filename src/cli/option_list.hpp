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

/// What a shell can offer for a value.
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

/// Says why a value is refused; empty where it is fine.
using ValueCheck = std::function<std::string(std::string&)>;

/// What may stand as the value of an option or an argument. Help, man page, completions and
/// messages read it.
struct ValueType {
  std::string name = {};  ///< what people call it: "FILE"
  Completion completion = Completion::nothing;
  std::vector<std::string> choices = {};  ///< where only these may be given
  ValueCheck validate = {};               ///< none where any value will do
};

/// One of the names; what is refused hears the nearest of them, or all.
ValueType one_of(std::string name, std::vector<std::string> choices);

/// A whole number from `fewest` to `most`.
ValueType whole_number(std::uint64_t fewest, std::uint64_t most);

/// Decimals that a number may be shown with: as many as a double has.
ValueType decimals();

/// A number from 0 to 1.
ValueType fraction_value();

/// Files of the user's. An empty name is refused: it is a variable that the shell has not set.
ValueType file_value();
ValueType directory_value();
ValueType path_value();

/// A lesson of the course or a lesson file; a step of the lesson; a cell of one of its matrices.
ValueType lesson_value();
ValueType step_value();
ValueType cell_value();

/// An option or an argument as its command declares it: all that help, man page and completions say
/// of it.
struct DeclaredOption {
  std::vector<std::string> names;  ///< "-o", "--output"; of an argument "LESSON"
  ValueType value;                 ///< of a flag without a name
  std::string says;
  bool is_argument = false;
  bool required = false;
  bool repeats = false;

  /// The last of its names, the long one where there is one.
  std::string_view preferred_name() const { return names.back(); }

  /// The first line of what it says: lists of choices stand below it.
  std::string_view first_help_line() const {
    return std::string_view(says).substr(0, says.find('\n'));
  }
};

/// A handle on a declared option. Each call says one thing more of it.
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

/// The options of one command. CLI11 is behind it, in option_list.cpp: its header costs five
/// seconds wherever it is included.
class OptionList {
 public:
  explicit OptionList(CLI::App& app) : app_(&app) {}

  /// An option ("-o,--output") whose value goes where `value` is. The types that it may have are
  /// listed at the end of option_list.cpp; a vector's option may be given several times.
  template <class Value>
  Option* add_option(const std::string& names, Value& value, ValueType kind,
                     const std::string& says);

  /// The same, handed to a function: a std::string, or a std::vector of them.
  template <class Value>
  Option* add_option_function(const std::string& names,
                              const std::function<void(const Value&)>& read, ValueType kind,
                              const std::string& says);

  /// An argument, which is called what its value is. A vector takes all that follow.
  template <class Value>
  Option* add_argument(Value& value, ValueType kind, const std::string& says);

  Option* add_flag(const std::string& names, bool& value, const std::string& says);
  /// An older name of a flag, which help, man page and completions leave out.
  void add_hidden_flag(const std::string& names, bool& value);
  Option* add_flag_callback(const std::string& names, const std::function<void()>& given,
                            const std::string& says);

  /// What any program has; they go before the command's other options.
  void add_help_and_version(const std::string& version);

  /// All of them, the arguments first.
  std::vector<DeclaredOption> declared() const;

 private:
  Option* keep(DeclaredOption declared, CLI::Option* option);

  CLI::App* app_;
  std::deque<Option> options_;  // a deque never moves them
};

}  // namespace qkv::inline cli
