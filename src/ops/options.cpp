#include "ops/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace qkv::inline ops {
namespace {

std::string shown(const OptionValue& value) {
  if (const auto* word = std::get_if<std::string>(&value)) return '"' + *word + '"';
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* span = std::get_if<OptionSpan>(&value)) {
    return fmt::format("[{}, {}]", (*span)[0], (*span)[1]);
  }
  return fmt::format("{}", std::get<double>(value));
}

struct NumberRule {
  OptionRule::Numbers numbers;
  std::string_view help;
  bool (*fits)(double);
};

constexpr NumberRule number_rules[] = {
    {OptionRule::Numbers::any, "a number", [](double) { return true; }},
    {OptionRule::Numbers::whole, "a whole number", [](double x) { return x == std::floor(x); }},
    {OptionRule::Numbers::positive, "a number above 0", [](double x) { return x > 0; }},
    {OptionRule::Numbers::not_negative, "a number from 0 up", [](double x) { return x >= 0; }},
};

const NumberRule* number_rule(const OptionRule& rule) {
  const auto* found = std::ranges::find(number_rules, rule.numbers, &NumberRule::numbers);
  return found == std::end(number_rules) ? nullptr : found;
}

bool fits(const OptionRule& rule, const OptionValue& value) {
  if (const auto* word = std::get_if<std::string>(&value)) {
    return rule.words == OptionRule::Words::any ||
           std::find(rule.list.begin(), rule.list.end(), *word) != rule.list.end();
  }
  if (std::holds_alternative<bool>(value)) return rule.flag;
  if (const auto* span = std::get_if<OptionSpan>(&value)) {
    const auto is_place = [](double x) { return x >= 1 && x == std::floor(x) && x < 1e15; };
    return rule.span && is_place((*span)[0]) && is_place((*span)[1]) && (*span)[0] <= (*span)[1];
  }
  const double number = std::get<double>(value);
  const NumberRule* numbers = number_rule(rule);
  return numbers && std::isfinite(number) && numbers->fits(number);
}

}  // namespace

Options Options::of(std::string_view name, OptionValue value) {
  Options options;
  options.set(std::string(name), std::move(value));
  return options;
}

const OptionValue* Options::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

void Options::rename(const Options& written, std::string_view from, std::string_view to) {
  const OptionValue* value = written.find(from);
  if (value) {
    set(std::string(to), *value);
  } else if (const auto found = values_.find(to); found != values_.end()) {
    values_.erase(found);
  }
}

const double* Options::if_number(std::string_view name) const {
  return std::get_if<double>(find(name));
}

std::string_view Options::contents(std::string_view name) const {
  const auto found = contents_.find(name);
  return found == contents_.end() ? std::string_view() : std::string_view(*found->second);
}

void Options::set_contents(std::string name, std::string bytes) {
  contents_[std::move(name)] = std::make_shared<const std::string>(std::move(bytes));
}

bool Options::flag(std::string_view name, bool otherwise) const {
  const OptionValue* value = find(name);
  return value ? std::get<bool>(*value) : otherwise;
}

double Options::number(std::string_view name, double otherwise) const {
  const OptionValue* value = find(name);
  return value ? std::get<double>(*value) : otherwise;
}

std::string_view Options::word(std::string_view name, std::string_view otherwise) const {
  const OptionValue* value = find(name);
  return value ? std::string_view(std::get<std::string>(*value)) : otherwise;
}

std::string choices(const OptionRule& rule) {
  std::string text;
  const auto add = [&](std::string_view choice) {
    text += text.empty() ? "" : " or ";
    text += choice;
  };
  for (const std::string_view word : rule.list) add(fmt::format("\"{}\"", word));
  if (rule.words == OptionRule::Words::any && rule.list.empty()) add("a word in quotes");
  if (const NumberRule* numbers = number_rule(rule)) add(numbers->help);
  if (rule.flag) add("true or false");
  if (rule.span) add("[from, to], counted from 1");
  return text;
}

std::string complaint(const OptionRule& rule, const OptionValue& value) {
  if (fits(rule, value)) return {};
  return fmt::format("{} is {}, not {}", rule.name, choices(rule), shown(value));
}

}  // namespace qkv::inline ops
