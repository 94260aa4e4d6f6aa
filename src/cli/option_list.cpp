#include "cli/option_list.hpp"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>

namespace qkv {

Option* Option::required() {
  option_->required();
  return this;
}

Option* Option::type_name(const std::string& name) {
  option_->type_name(name);
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

Option* Option::allow_extra_args(bool several) {
  option_->allow_extra_args(several);
  return this;
}

Option* Option::check(const Refusal& refusal) {
  option_->check(CLI::Validator(refusal, ""));
  return this;
}

std::size_t Option::count() const { return option_->count(); }

template <class Value>
Option* OptionList::add_option(const std::string& name, Value& value, const std::string& says) {
  return declared(app_->add_option(name, value, says));
}

template <class Value>
Option* OptionList::add_option_function(const std::string& name,
                                        const std::function<void(const Value&)>& read,
                                        const std::string& says) {
  return declared(app_->add_option_function<Value>(name, read, says));
}

Option* OptionList::add_flag(const std::string& name, bool& value, const std::string& says) {
  return declared(app_->add_flag(name, value, says));
}

Option* OptionList::add_flag_callback(const std::string& name, const std::function<void()>& given,
                                      const std::string& says) {
  return declared(app_->add_flag_callback(name, given, says));
}

Option* OptionList::declared(CLI::Option* option) { return &options_.emplace_back(*option); }

// What commands use: another type needs its line here.
using Name = const std::string&;
using Words = std::vector<std::string>;
template Option* OptionList::add_option(Name, std::string&, Name);
template Option* OptionList::add_option(Name, std::optional<std::string>&, Name);
template Option* OptionList::add_option(Name, Words&, Name);
template Option* OptionList::add_option(Name, int&, Name);
template Option* OptionList::add_option(Name, std::optional<int>&, Name);
template Option* OptionList::add_option(Name, std::optional<double>&, Name);
template Option* OptionList::add_option(Name, double&, Name);
template Option* OptionList::add_option(Name, std::size_t&, Name);
template Option* OptionList::add_option(Name, std::optional<std::size_t>&, Name);
template Option* OptionList::add_option(Name, std::uint32_t&, Name);
template Option* OptionList::add_option_function(Name,
                                                 const std::function<void(const std::string&)>&,
                                                 Name);
template Option* OptionList::add_option_function(Name, const std::function<void(const Words&)>&,
                                                 Name);

}  // namespace qkv
