#include "lesson/set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "formats/cell.hpp"
#include "formats/numeral.hpp"
#include "ops/operation.hpp"
#include "text/error.hpp"
#include "text/nearest.hpp"
#include "text/trimmed.hpp"
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

[[noreturn]] void refuse_not_given(const Recipe& recipe, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Given& given : recipe.givens) names.push_back(given.name);
  const std::string settable = names.empty() ? "nothing in this lesson" : some_of(names);
  throw InputError(fmt::format("--set {} is not given; {}", name.empty() ? "\"\"" : printable(name),
                               did_you_mean(name, names, "what is given can be set: " + settable)));
}

// The given whose cell is written there.
Given& given_of(Recipe& recipe, std::string_view written) {
  const std::string_view name = trimmed(written.substr(0, written.find('[')));
  const auto given = std::find_if(recipe.givens.begin(), recipe.givens.end(),
                                  [&](const Given& one) { return one.name == name; });
  if (given == recipe.givens.end()) refuse_not_given(recipe, name);
  return *given;
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

void set_cell(Recipe& recipe, const std::string& change, const Trace& named) {
  const std::size_t equals = change.rfind('=');
  Given& given = given_of(recipe, std::string_view(change).substr(0, equals));
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

}  // namespace qkv
