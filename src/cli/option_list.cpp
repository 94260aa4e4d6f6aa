#include "cli/option_list.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <optional>

namespace qkv {
namespace {

template <class Value>
constexpr bool is_list = false;
template <class Value>
constexpr bool is_list<std::vector<Value>> = true;

}  // namespace

Option::Option(DeclaredOption declared, CLI::Option& option)
    : declared_(std::move(declared)), option_(&option) {
  const ValueKind& value = declared_.value;
  if (value.name.empty()) return;
  option.type_name(declared_.is_argument ? "" : value.name);
  if (value.refusal) option.check(CLI::Validator(value.refusal, ""));
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
Option* OptionList::add_option(const std::string& names, Value& value, ValueKind kind,
                               const std::string& says) {
  return keep({.names = CLI::detail::split(names, ','),
               .value = std::move(kind),
               .says = says,
               .repeats = is_list<Value>},
              app_->add_option(names, value, says));
}

template <class Value>
Option* OptionList::add_option_function(const std::string& names,
                                        const std::function<void(const Value&)>& read,
                                        ValueKind kind, const std::string& says) {
  return keep({.names = CLI::detail::split(names, ','),
               .value = std::move(kind),
               .says = says,
               .repeats = is_list<Value>},
              app_->add_option_function<Value>(names, read, says));
}

template <class Value>
Option* OptionList::add_argument(Value& value, ValueKind kind, const std::string& says) {
  CLI::Option* option = app_->add_option(kind.name, value, says);
  std::string name = kind.name;
  return keep({.names = {std::move(name)},
               .value = std::move(kind),
               .says = says,
               .is_argument = true,
               .repeats = is_list<Value>},
              option);
}

Option* OptionList::add_flag(const std::string& names, bool& value, const std::string& says) {
  return keep({.names = CLI::detail::split(names, ','), .value = {}, .says = says},
              app_->add_flag(names, value, says));
}

Option* OptionList::add_flag_callback(const std::string& names, const std::function<void()>& given,
                                      const std::string& says) {
  return keep({.names = CLI::detail::split(names, ','), .value = {}, .says = says},
              app_->add_flag_callback(names, given, says));
}

void OptionList::add_help_and_version(const std::string& version) {
  const DeclaredOption help{
      .names = {"-h", "--help"}, .value = {}, .says = "Print this help message and exit"};
  keep(help, app_->set_help_flag("-h,--help", help.says));
  const DeclaredOption number{
      .names = {"--version"}, .value = {}, .says = "Display program version information and exit"};
  keep(number, app_->set_version_flag("--version", version, number.says));
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

// What commands use: another type needs its line here.
using Name = const std::string&;
using Words = std::vector<std::string>;
template <class Value>
using Read = const std::function<void(const Value&)>&;
template Option* OptionList::add_option(Name, std::string&, ValueKind, Name);
template Option* OptionList::add_option(Name, std::optional<std::string>&, ValueKind, Name);
template Option* OptionList::add_option(Name, Words&, ValueKind, Name);
template Option* OptionList::add_option(Name, int&, ValueKind, Name);
template Option* OptionList::add_option(Name, std::optional<int>&, ValueKind, Name);
template Option* OptionList::add_option(Name, std::optional<double>&, ValueKind, Name);
template Option* OptionList::add_option(Name, double&, ValueKind, Name);
template Option* OptionList::add_option(Name, std::size_t&, ValueKind, Name);
template Option* OptionList::add_option(Name, std::optional<std::size_t>&, ValueKind, Name);
template Option* OptionList::add_option(Name, std::uint32_t&, ValueKind, Name);
template Option* OptionList::add_option_function(Name, Read<std::string>, ValueKind, Name);
template Option* OptionList::add_option_function(Name, Read<Words>, ValueKind, Name);
template Option* OptionList::add_argument(std::string&, ValueKind, Name);
template Option* OptionList::add_argument(Words&, ValueKind, Name);

}  // namespace qkv
