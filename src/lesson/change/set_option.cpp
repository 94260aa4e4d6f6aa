#include "lesson/change/set_option.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "formats/handwork/numeral.hpp"
#include "ops/backward_rule.hpp"
#include "text/error.hpp"
#include "text/number_in.hpp"
#include "text/strings.hpp"
#include "text/suggest.hpp"

namespace qkv {
namespace {

constexpr std::string_view operands_key = "of";

// "h0.Q_rope.pairing=halves": the step, its option and what it is to be.
struct OptionChange {
  std::string_view step;
  std::string_view key;
  std::string_view value;
};

// Nothing where the change is that of a cell.
std::optional<OptionChange> option_change_in(std::string_view change) {
  const std::size_t equals = change.find('=');
  if (equals == std::string_view::npos) return {};
  const std::string_view left = trimmed(change.substr(0, equals));
  const std::size_t dot = left.rfind('.');
  if (dot == std::string_view::npos || left.find('[') != std::string_view::npos) return {};
  return OptionChange{left.substr(0, dot), left.substr(dot + 1),
                      trimmed(change.substr(equals + 1))};
}

// Whether the name is what the pattern says; * is any part of it.
bool matches(std::string_view name, std::string_view pattern) {
  const std::size_t first = pattern.find('*');
  if (first == std::string_view::npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, first))) return false;
  name.remove_prefix(first);
  pattern.remove_prefix(first + 1);
  for (std::size_t next = pattern.find('*'); next != std::string_view::npos;
       next = pattern.find('*')) {
    const std::size_t found = name.find(pattern.substr(0, next));
    if (found == std::string_view::npos) return false;
    name.remove_prefix(found + next);
    pattern.remove_prefix(next + 1);
  }
  return name.ends_with(pattern);
}

bool has_name(const Recipe& recipe, std::string_view name) {
  return std::ranges::find(recipe.givens, name, &Given::name) != recipe.givens.end() ||
         std::ranges::find(recipe.steps, name, &StepRecipe::name) != recipe.steps.end();
}

const OptionRule* rule_of(const StepRecipe& step, std::string_view key) {
  const auto rule = std::ranges::find(step.operation->options, key, &OptionRule::name);
  return rule == step.operation->options.end() ? nullptr : &*rule;
}

// true, 0.5, [1, 4] or a word.
OptionValue value_in(std::string_view text) {
  if (text == "true" || text == "false") return text == "true";
  if (const auto number = number_in<double>(text)) return *number;
  if (text.starts_with('[') && text.ends_with(']')) {
    const std::string_view inside = text.substr(1, text.size() - 2);
    const std::size_t comma = inside.find(',');
    const auto from = number_in<double>(trimmed(inside.substr(0, comma)));
    const auto to = comma == std::string_view::npos
                        ? std::nullopt
                        : number_in<double>(trimmed(inside.substr(comma + 1)));
    if (from && to) return OptionSpan{*from, *to};
  }
  const bool is_quoted = text.size() >= 2 && text.starts_with('"') && text.ends_with('"');
  return std::string(is_quoted ? text.substr(1, text.size() - 2) : text);
}

[[noreturn]] void refuse_key(const StepRecipe& step, std::string_view key) {
  std::vector<std::string_view> known = {operands_key};
  for (const OptionRule& rule : step.operation->options) known.push_back(rule.name);
  throw InputError(fmt::format("--set {}: {} has no option \"{}\"; {}", printable(step.name),
                               step.operation->name, printable(key), did_you_mean(key, known)));
}

void set_value(StepRecipe& step, const OptionRule& rule, std::string_view text,
               Convention convention) {
  OptionValue value = value_in(text);
  const std::string wrong =
      rule.file ? fmt::format("{} is a file of the lesson's", rule.name) : complaint(rule, value);
  if (!wrong.empty()) {
    throw InputError(fmt::format("--set {}.{}: {}", printable(step.name), rule.name, wrong));
  }
  Options written;
  written.set(std::string(rule.name), std::move(value));
  const Options inside = step.operation->turned(std::move(written), convention);
  for (const auto& [name, one] : inside.all()) step.options.set(name, one);
}

// What the step is made of must stand before it.
void set_operands(Recipe& recipe, StepRecipe& step, std::string_view list) {
  std::vector<std::string_view> before;
  for (const Given& given : recipe.givens) before.push_back(given.name);
  for (const StepRecipe& other : recipe.steps) {
    if (&other == &step) break;
    before.push_back(other.name);
  }
  std::vector<std::string> of;
  for (std::size_t comma = 0; comma != std::string_view::npos;) {
    comma = list.find(',');
    const std::string_view name = trimmed(list.substr(0, comma));
    if (std::ranges::find(before, name) == before.end()) {
      throw InputError(fmt::format("--set {}.of: nothing before this step is called \"{}\"; {}",
                                   printable(step.name), printable(name),
                                   did_you_mean(name, before)));
    }
    of.emplace_back(name);
    if (comma != std::string_view::npos) list.remove_prefix(comma + 1);
  }
  if (of.size() < step.operation->fewest || of.size() > step.operation->most) {
    throw InputError(fmt::format("--set {}.of: {} takes {}", printable(step.name),
                                 step.operation->name, step.operation->operands));
  }
  const auto goes_back = [](const StepRecipe& other) { return is_gradient(*other.operation); };
  if (std::ranges::any_of(recipe.steps, goes_back)) {
    throw InputError(fmt::format(
        "--set {}.of: the lesson walks back through this step; change what it is made of in the "
        "lesson's file",
        printable(step.name)));
  }
  step.of = step.operation->turned(std::move(of), recipe.convention);
}

}  // namespace

bool set_option(Recipe& recipe, std::string_view change) {
  const auto wanted = option_change_in(change);
  const bool is_pattern = wanted && wanted->step.find('*') != std::string_view::npos;
  if (!wanted || has_name(recipe, trimmed(change.substr(0, change.find('='))))) return false;
  bool any = false;
  for (StepRecipe& step : recipe.steps) {
    if (!matches(step.name, wanted->step)) continue;
    const OptionRule* rule = rule_of(step, wanted->key);
    const bool has_operands = wanted->key == operands_key;
    if (!rule && is_pattern && !has_operands) continue;
    if (!rule && !has_operands) refuse_key(step, wanted->key);
    if (rule) {
      set_value(step, *rule, wanted->value, recipe.convention);
    } else {
      set_operands(recipe, step, wanted->value);
    }
    any = true;
  }
  if (is_pattern && !any) {
    throw InputError(fmt::format("--set {}: no step of that name has an option \"{}\"",
                                 printable(wanted->step), printable(wanted->key)));
  }
  return any;
}

std::string_view set_name(const Recipe& recipe, std::string_view change) {
  const std::string_view left = trimmed(change.substr(0, change.find_first_of("[=")));
  const auto option = option_change_in(change);
  return option && !has_name(recipe, left) ? option->step : left;
}

}  // namespace qkv
