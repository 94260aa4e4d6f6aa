#include "lesson/change/overrides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "formats/files/read_file.hpp"
#include "formats/handwork/cell.hpp"
#include "formats/handwork/numeral.hpp"
#include "lesson/change/set_option.hpp"
#include "ops/operation.hpp"
#include "text/error.hpp"
#include "text/strings.hpp"
#include "text/suggest.hpp"
#include "trace/evaluate.hpp"
#include "trace/reference.hpp"

namespace qkv {
namespace {

double set_value(const std::string& change, std::string_view written) {
  const std::string_view text = trimmed(written);
  const NumeralResult result = parse_cell(text, mark_of(text));
  if (result.fault != NumeralFault::none || std::isnan(result.numeral.value)) {
    const bool is_in_digits =
        result.fault == NumeralFault::too_large || result.fault == NumeralFault::rounded;
    throw InputError(fmt::format(
        "--set {}: {}", change,
        is_in_digits
            ? refusal(result.fault, written)
            : fmt::format("\"{}\" is not a number: write it like 0.25, 1/3, √2, 80% or 2.5e-3",
                          printable(written))));
  }
  return result.numeral.value;
}

[[noreturn]] void refuse_not_given(const Recipe& recipe, std::string_view option,
                                   std::string_view name, Settable settable) {
  std::vector<std::string_view> names;
  for (const Given& given : recipe.givens) names.push_back(given.name);
  const bool has_steps = settable == Settable::givens_and_steps;
  for (const StepRecipe& step : recipe.steps) {
    if (has_steps) names.push_back(step.name);
  }
  const std::string all = names.empty() ? "nothing in this lesson" : some_of(names);
  throw InputError(fmt::format(
      "{} {} is not given; {}", option, name.empty() ? "\"\"" : printable(name),
      did_you_mean(
          name, names,
          fmt::format("what is given can be set{}: {}", has_steps ? ", and each step" : "", all))));
}

// The given of that name. A step becomes one, with the numbers that it has.
Given& given_of(Recipe& recipe, std::string_view option, std::string_view name, const Trace& named,
                Settable settable) {
  const auto given = std::ranges::find(recipe.givens, name, &Given::name);
  if (given != recipe.givens.end()) return *given;
  const auto step = std::ranges::find(recipe.steps, name, &StepRecipe::name);
  if (step == recipe.steps.end() || settable == Settable::givens) {
    refuse_not_given(recipe, option, name, settable);
  }
  recipe.givens.push_back({step->name, named.at(name)});
  recipe.steps.erase(step);
  return recipe.givens.back();
}

// A matrix without a cell, or something else without a value.
[[noreturn]] void throw_how_to_write(const std::string& change, const Trace& named) {
  try {
    find_cell(change, named);  // names one of its cells
  } catch (const InputError& error) {
    throw InputError(fmt::format("--set {}, and its value behind it", error.what()));
  }
  throw InputError(fmt::format("--set {}: write the cell and its value", printable(change)));
}

}  // namespace

void set_text(Recipe& recipe, const std::string& text) {
  const bool reads_text =
      std::any_of(recipe.steps.begin(), recipe.steps.end(),
                  [](const StepRecipe& step) { return step.operation->most == 0; });
  if (!reads_text) {
    throw InputError("--text: this lesson does not start from a text; change a given with --set");
  }
  recipe.environment.texts = {text};
}

void set_cell(Recipe& recipe, const std::string& change, const Trace& named, Settable settable) {
  const std::size_t equals = change.rfind('=');
  const std::string_view whole = std::string_view(change).substr(0, equals);
  Given& given =
      given_of(recipe, "--set", trimmed(whole.substr(0, whole.find('['))), named, settable);
  if (equals == std::string::npos) {
    if (change.find('[') == std::string::npos) throw_how_to_write(change, named);
    throw InputError(
        fmt::format("--set {0}: write the cell and its value: '{0}=0.5'", printable(change)));
  }
  try {
    const std::string_view written = std::string_view(change).substr(0, equals);
    if (written.find('[') == written.npos) find_cell(written, named);  // says how to write one
    const ReferenceText text = parse_reference(written);
    Tensor& tensor = given.tensor;
    const double value = set_value(change, std::string_view(change).substr(equals + 1));
    for (const CellReference& cell : resolve_all(text, named)) {
      tensor.values
          .write()[(cell.matrix * tensor.rows() + cell.row) * tensor.columns() + cell.column] =
          value;
    }
  } catch (const InputError& error) {
    const std::string_view message = error.what();
    throw InputError(message.starts_with("--set") ? std::string(message)
                                                  : fmt::format("--set {}", message));
  }
}

namespace {}  // namespace

void set_all(Recipe& recipe, const std::vector<std::string>& changes, const Trace& named,
             bool is_changed) {
  // Cells of steps, by the place of the step: what the changes before it make of it is set in.
  std::multimap<std::size_t, const std::string*> in_steps;
  for (const std::string& change : changes) {
    const bool is_option = set_option(recipe, change);
    const auto step = std::ranges::find(recipe.steps, set_name(recipe, change), &StepRecipe::name);
    if (!is_option && step != recipe.steps.end()) {
      in_steps.emplace(step - recipe.steps.begin(), &change);
      continue;
    }
    if (!is_option) set_cell(recipe, change, named);
    is_changed = true;
  }
  for (const auto& [place, change] : in_steps) {
    const std::string name(set_name(recipe, *change));
    const bool is_given =
        std::ranges::find(recipe.givens, name, &Given::name) != recipe.givens.end();
    if (is_changed && !is_given) {
      set_cell(recipe, *change, evaluate(recipe, {name}));
    } else {
      set_cell(recipe, *change, named);
    }
    is_changed = true;
  }
}

Trace with_set(const Trace& trace, const std::vector<std::string>& changes) {
  Recipe recipe{.convention = trace.convention,
                .environment = trace.environment,
                .tokens = {},
                .givens = trace.givens,
                .steps = {}};
  for (const Step& step : trace.steps) {
    recipe.steps.push_back({step.name, step.operation, step.of, step.options});
  }
  set_all(recipe, changes, trace, false);
  return evaluate(std::move(recipe), {});
}

void patch_matrix(Recipe& recipe, const std::string& change, const Trace& named) {
  const std::size_t equals = change.find('=');
  if (equals == std::string::npos || equals + 1 == change.size()) {
    throw InputError(fmt::format("--patch {}: write the matrix and its file: h0.context=other.npy",
                                 printable(change)));
  }
  Tensor& tensor = given_of(recipe, "--patch", trimmed(std::string_view(change).substr(0, equals)),
                            named, Settable::givens_and_steps)
                       .tensor;
  const std::string file = change.substr(equals + 1);
  const Written written = read_written(file);
  if (written.shape != tensor.shape()) {
    throw InputError(fmt::format("--patch {}: {} is {}, and {} has {}", printable(change),
                                 change.substr(0, equals), shape_text(tensor.shape()),
                                 printable(file), shape_text(written.shape)));
  }
  std::ranges::transform(written.cells, tensor.values.write().begin(), &Numeral::value);
}

}  // namespace qkv
