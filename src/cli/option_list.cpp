#include "cli/option_list.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <optional>

#include "text/number.hpp"
#include "text/suggest.hpp"

namespace qkv::inline cli {
namespace {

ValueCheck check_not_empty(std::string_view what) {
  return [what](const std::string& name) -> std::string {
    return name.empty() ? fmt::format("the name is empty; write {}", what) : "";
  };
}

ValueType place_value(std::string name, Completion completion) {
  return {.name = std::move(name),
          .completion = completion,
          .validate = check_not_empty("the path of a file or a directory")};
}

template <class Value>
constexpr bool is_list = false;
template <class Value>
constexpr bool is_list<std::vector<Value>> = true;

}  // namespace

ValueType one_of(std::string name, std::vector<std::string> choices) {
  ValueCheck validate = [choices](const std::string& wanted) -> std::string {
    if (std::find(choices.begin(), choices.end(), wanted) != choices.end()) return {};
    return fmt::format("\"{}\" is not possible; {}", wanted, did_you_mean(wanted, choices));
  };
  return {std::move(name), Completion::choices, std::move(choices), std::move(validate)};
}

ValueType whole_number(std::uint64_t fewest, std::uint64_t most) {
  const auto validate = [fewest, most](const std::string& text) -> std::string {
    const auto number = parse_number<std::uint64_t>(text);
    if (number && *number >= fewest && *number <= most) return {};
    return fmt::format("\"{}\" is no whole number from {} to {}", text, fewest, most);
  };
  return {.name = "N", .validate = validate};
}

ValueType decimals() { return whole_number(0, 17); }

ValueType fraction_value() {
  const auto validate = [](const std::string& text) -> std::string {
    const auto share = parse_number<double>(text);
    if (share && *share >= 0 && *share <= 1) return {};
    return fmt::format("\"{}\" is no number from 0 to 1, such as 0.5", text);
  };
  return {.name = "SHARE", .validate = validate};
}

ValueType file_value() { return place_value("FILE", Completion::files); }
ValueType directory_value() { return place_value("DIR", Completion::directories); }
ValueType path_value() { return place_value("PATH", Completion::files); }

ValueType lesson_value() { return {.name = "LESSON", .completion = Completion::lessons}; }

ValueType step_value() {
  return {.name = "NAME",
          .completion = Completion::steps,
          .validate = check_not_empty("a step's name or its number")};
}

ValueType cell_value() { return {.name = "CELL", .completion = Completion::cells}; }

Option::Option(DeclaredOption declared, CLI::Option& option)
    : declared_(std::move(declared)), option_(&option) {
  const ValueType& value = declared_.value;
  if (value.name.empty()) return;
  option.type_name(declared_.is_argument ? "" : value.name);
  if (value.validate) option.check(CLI::Validator(value.validate, ""));
  if (declared_.repeats && !declared_.is_argument) option.allow_extra_args(false);
}

Option* Option::required() {
  declared_.required = true;
  option_->required();
  return this;
}

Option* Option::excludes(const Option* other) {
  option_->excludes(other->option_);
  return this;
}

Option* Option::needs(const Option* other) {
  option_->needs(other->option_);
  return this;
}

std::size_t Option::count() const { return option_->count(); }

template <class Value>
Option* OptionList::add_option(const std::string& names, Value& value, ValueType kind,
                               const std::string& help) {
  return keep({.names = CLI::detail::split(names, ','),
               .value = std::move(kind),
               .help = help,
               .repeats = is_list<Value>},
              app_->add_option(names, value, help));
}

template <class Value>
Option* OptionList::add_option_function(const std::string& names,
                                        const std::function<void(const Value&)>& read,
                                        ValueType kind, const std::string& help) {
  return keep({.names = CLI::detail::split(names, ','),
               .value = std::move(kind),
               .help = help,
               .repeats = is_list<Value>},
              app_->add_option_function<Value>(names, read, help));
}

template <class Value>
Option* OptionList::add_argument(Value& value, ValueType kind, const std::string& help) {
  CLI::Option* option = app_->add_option(kind.name, value, help);
  std::string name = kind.name;
  return keep({.names = {std::move(name)},
               .value = std::move(kind),
               .help = help,
               .is_argument = true,
               .repeats = is_list<Value>},
              option);
}

Option* OptionList::add_flag(const std::string& names, bool& value, const std::string& help) {
  return keep({.names = CLI::detail::split(names, ','), .value = {}, .help = help},
              app_->add_flag(names, value, help));
}

void OptionList::add_hidden_flag(const std::string& names, bool& value) {
  app_->add_flag(names, value)->group("");
}

Option* OptionList::add_flag_callback(const std::string& names, const std::function<void()>& given,
                                      const std::string& help) {
  return keep({.names = CLI::detail::split(names, ','), .value = {}, .help = help},
              app_->add_flag_callback(names, given, help));
}

void OptionList::add_help_and_version(const std::string& version) {
  const DeclaredOption help{
      .names = {"-h", "--help"}, .value = {}, .help = "Print this help message and exit"};
  keep(help, app_->set_help_flag("-h,--help", help.help));
  const DeclaredOption number{
      .names = {"--version"}, .value = {}, .help = "Display program version information and exit"};
  keep(number, app_->set_version_flag("--version", version, number.help));
}

std::vector<DeclaredOption> OptionList::declared() const {
  std::vector<DeclaredOption> all;
  for (const Option& option : options_) all.push_back(option.declared());
  std::stable_partition(all.begin(), all.end(),
                        [](const DeclaredOption& option) { return option.is_argument; });
  return all;
}

Option* OptionList::keep(DeclaredOption declared, CLI::Option* option) {
  return &options_.emplace_back(std::move(declared), *option);
}

// The value types in use: another one needs a line here.
using Name = const std::string&;
using Words = std::vector<std::string>;
template <class Value>
using Read = const std::function<void(const Value&)>&;
template Option* OptionList::add_option(Name, std::string&, ValueType, Name);
template Option* OptionList::add_option(Name, std::optional<std::string>&, ValueType, Name);
template Option* OptionList::add_option(Name, Words&, ValueType, Name);
template Option* OptionList::add_option(Name, int&, ValueType, Name);
template Option* OptionList::add_option(Name, std::optional<int>&, ValueType, Name);
template Option* OptionList::add_option(Name, std::optional<double>&, ValueType, Name);
template Option* OptionList::add_option(Name, double&, ValueType, Name);
template Option* OptionList::add_option(Name, std::size_t&, ValueType, Name);
template Option* OptionList::add_option(Name, std::optional<std::size_t>&, ValueType, Name);
template Option* OptionList::add_option(Name, std::uint32_t&, ValueType, Name);
template Option* OptionList::add_option_function(Name, Read<std::string>, ValueType, Name);
template Option* OptionList::add_option_function(Name, Read<Words>, ValueType, Name);
template Option* OptionList::add_argument(std::string&, ValueType, Name);
template Option* OptionList::add_argument(Words&, ValueType, Name);

}  // namespace qkv::inline cli
