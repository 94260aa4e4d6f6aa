#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace qkv {

/// Says why a value is refused; empty where it is fine.
using Refusal = std::function<std::string(std::string&)>;

/// An option or an argument as its command declares it. Each call says one thing more of it.
class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  Option* required();
  Option* type_name(const std::string& name);  ///< what help calls its value; empty: nothing
  Option* excludes(const Option* other);
  Option* needs(const Option* other);
  Option* allow_extra_args(bool several);  ///< whether one mention takes several values
  Option* check(const Refusal& refusal);

  std::size_t count() const;  ///< how often it was given

 private:
  CLI::Option* option_;
};

/// The options of one command. CLI11 is behind it, in option_list.cpp: its header costs five
/// seconds wherever it is included.
class OptionList {
 public:
  explicit OptionList(CLI::App& app) : app_(&app) {}

  /// An option ("-o,--output") or an argument ("FILE") whose value goes where `value` is. The types
  /// that it may have are listed at the end of option_list.cpp.
  template <class Value>
  Option* add_option(const std::string& name, Value& value, const std::string& says);

  /// The same, handed to a function: a std::string, or a std::vector of them.
  template <class Value>
  Option* add_option_function(const std::string& name,
                              const std::function<void(const Value&)>& read,
                              const std::string& says);

  Option* add_flag(const std::string& name, bool& value, const std::string& says);
  Option* add_flag_callback(const std::string& name, const std::function<void()>& given,
                            const std::string& says);

 private:
  Option* declared(CLI::Option* option);

  CLI::App* app_;
  std::deque<Option> options_;  // a deque never moves them
};

}  // namespace qkv
