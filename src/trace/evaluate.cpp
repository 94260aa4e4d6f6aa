#include "trace/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <new>
#include <set>

#include "ops/result.hpp"
#include "tensor/memory_limit.hpp"
#include "tensor/parallel.hpp"
#include "tensor/row_kernels.hpp"
#include "text/error.hpp"
#include "trace/words.hpp"

namespace qkv {
namespace {

void name_axis(Axis& axis, std::string_view name) {
  if (axis.name.empty() && name != "1" && !is_placeholder(name)) axis.name = name;
}

void name_matrix(Tensor& tensor, std::string_view axes) {
  if (axes.empty()) return;
  const auto [rows, columns] = axis_names(axes);
  name_axis(tensor.axes.back(), columns);
  if (tensor.rank() > 1) name_axis(tensor.axes[tensor.rank() - 2], rows);
}

void name_leading(Tensor& tensor, std::string_view innermost) {
  const std::size_t leading = tensor.leading_axes();
  if (leading > 0) name_axis(tensor.axes[leading - 1], innermost);
  if (leading > 1) name_axis(tensor.axes[leading - 2], "batch");
}

bool counts_tokens(const Axis& axis) {
  return axis.name.empty() || axis.name == "token" || axis.name == "query" || axis.name == "key";
}

// `tokens` label whatever has a row for each token; ids, being a vector, count along it.
void label_tokens(Tensor& tensor, const AxisLabels& tokens) {
  const bool is_ids = tensor.rank() == 1 && tensor.axes[0].name == "token";
  if (tokens.empty() || (tensor.rank() == 1 && !is_ids)) return;
  Axis& axis = is_ids ? tensor.axes[0] : tensor.axes[tensor.rank() - 2];
  if (axis.labels.empty() && axis.size == tokens.size() && counts_tokens(axis))
    axis.labels = tokens;
}

// Whether the rows of operand `k` may stand for tokens. Those of what is used as a weight do not,
// though there be as many: they meet features. They do where the columns that they meet are tokens.
bool may_have_tokens(const Call& call, const Form& form, std::size_t k) {
  if (is_name_of_weight(call.names[k])) return false;
  const auto rows = axis_names(form.operands[std::min(k, form.operands.size() - 1)]).first;
  const bool is_vector = call.inputs[k]->rank() < 2;
  if (rows != "inner") return is_vector || (rows != "1" && rows != "column");
  const Axis& met = call.inputs[0]->axes.back();
  return !met.labels.empty() || met.name == "key" || met.name == "query";
}

// The first step that uses a given tells what its axes count, where its name does not. Its leading
// axis counts sentences where it is data that meets weights without heads, or is yet to be cut into
// heads; else it counts heads, as where it meets numbers that its heads share or have each, or is
// called Q, K or V: their norms have a gain for all heads.
void learn_axes(Trace& trace, const Step& step, const AxisLabels& tokens) {
  const Call call = trace.call(step);
  const Form form = step.operation->form(call);
  const bool plain_weights =
      call.inputs.size() > 1 && std::all_of(call.inputs.begin() + 1, call.inputs.end(),
                                            [](const Tensor* t) { return t->rank() < 3; });
  const auto counts_sentences = [&](std::string_view name) {
    return form.makes_heads || (plain_weights && !form.shares_heads && !is_name_of_heads(name));
  };
  std::set<std::size_t> met;
  for (std::size_t k = 0; k < step.of.size(); ++k) {
    const auto place = trace.given_names.place(step.of[k]);
    if (!place || !met.insert(*place).second) continue;  // where it stands first tells
    Given& given = trace.givens[*place];
    if (!form.operands.empty()) {
      name_matrix(given.tensor, form.operands[std::min(k, form.operands.size() - 1)]);
    }
    name_leading(given.tensor, k == 0 && counts_sentences(given.name) ? "batch" : "head");
    if (form.operands.empty() || may_have_tokens(call, form, k)) label_tokens(given.tensor, tokens);
  }
}

// Asked of every number of every step: on several threads where they are many.
bool has_no_number(const Tensor& tensor) {
  std::atomic<bool> found = false;
  tensor.values.in_pieces([&](std::span<const double> piece) {
    in_blocks(piece.size(), std::size_t{1} << 16, 1, [&](std::size_t begin, std::size_t end) {
      if (has_nan(piece.subspan(begin, end - begin))) found = true;
    });
  });
  return found;
}

// "row 1, column 2" of the first number that is such.
std::optional<std::string> first_place(const Tensor& tensor, bool (*is_such)(double)) {
  const auto found = std::find_if(tensor.values.begin(), tensor.values.end(), is_such);
  if (found == tensor.values.end()) return {};
  const auto place = static_cast<std::size_t>(found - tensor.values.begin());
  return fmt::format("row {}, column {}", place / tensor.columns() % tensor.rows() + 1,
                     place % tensor.columns() + 1);
}

bool is_no_number(double value) { return std::isnan(value); }
bool is_infinite(double value) { return std::isinf(value); }

// What brought a number that is none about: one in an operand, infinities there, or an overflow.
std::string why_no_number(const Operation& operation, const Call& call) {
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    if (const auto place = first_place(*call.inputs[k], is_no_number)) {
      return fmt::format("{} of {} is none (nan); look where it comes from", *place, call.names[k]);
    }
  }
  for (std::size_t k = 0; k < call.inputs.size(); ++k) {
    if (const auto place = first_place(*call.inputs[k], is_infinite)) {
      return fmt::format("infinities met (inf − inf or 0 · inf); {} of {} is infinite", *place,
                         call.names[k]);
    }
  }
  const bool is_small = std::ranges::all_of(call.inputs, [](const Tensor* input) {
    constexpr double no_overflow = 1e100;  // of squares and sums
    return std::ranges::all_of(input->values, [](double x) { return std::abs(x) < no_overflow; });
  });
  if (!is_small) {
    return "its terms grew beyond 1.8e308, the largest number; make its operands smaller";
  }
  if (!operation.undefined.empty()) return std::string(operation.undefined);
  return fmt::format("0 was divided by 0; {}", operation.against_zero);
}

void refuse_no_number(const Tensor& tensor, const Operation& operation, const Call& call) {
  if (!has_no_number(tensor)) return;
  throw InputError(fmt::format("{}: {} is not a number: {}", call.step,
                               first_place(tensor, is_no_number).value(),
                               why_no_number(operation, call)));
}

void refuse_operand_count(const StepRecipe& step) {
  const Operation& operation = *step.operation;
  if (step.of.size() >= operation.fewest && step.of.size() <= operation.most) return;
  const std::string wanted = operation.fewest == operation.most
                                 ? fmt::format("{}", operation.fewest)
                                 : fmt::format("{} to {}", operation.fewest, operation.most);
  throw InputError(fmt::format("{}: {} takes {} operand{}, not {}", step.name, operation.name,
                               wanted, operation.most == 1 ? "" : "s", step.of.size()));
}

Step worked_out(const StepRecipe& recipe, Trace& trace, const AxisLabels& tokens) {
  refuse_operand_count(recipe);
  Step step{.name = recipe.name,
            .operation = recipe.operation,
            .of = recipe.of,
            .options = recipe.options,
            .output = {}};
  learn_axes(trace, step, tokens);
  const Call call = trace.call(step);
  step.output = result_of(*recipe.operation, call);
  // What is recomputed makes nan of nothing that wasn't (Operation::in_place).
  if (step.output.values.are_stored()) refuse_no_number(step.output, *recipe.operation, call);
  return step;
}

// ---------------------------------------------------------------- what is wanted

// Of each step whether something wanted needs it; a step's operands stand before it.
std::vector<bool> needed_steps(const Recipe& recipe, const WantedSteps& wanted) {
  if (wanted.empty()) return std::vector<bool>(recipe.steps.size(), true);
  std::vector<bool> needed(recipe.steps.size());
  for (const std::string& name : wanted) {
    if (const auto step = find_step(recipe, name)) needed[*step] = true;
  }
  std::set<std::string_view> operands;
  for (std::size_t s = needed.size(); s-- > 0;) {
    const StepRecipe& step = recipe.steps[s];
    if (operands.contains(step.name)) needed[s] = true;
    if (needed[s]) operands.insert(step.of.begin(), step.of.end());
  }
  return needed;
}

// The names of what is looked at in the end: what is wanted, and what its arithmetic is made of.
std::set<std::string_view> names_to_keep(const Recipe& recipe, const WantedSteps& wanted) {
  std::set<std::string_view> names(wanted.begin(), wanted.end());
  for (const std::string& name : wanted) {
    const auto step = find_step(recipe, name);
    if (!step) continue;
    names.insert(recipe.steps[*step].name);
    names.insert(recipe.steps[*step].of.begin(), recipe.steps[*step].of.end());
  }
  return names;
}

// Of each operand the last step that needs it.
using LastUses = std::map<std::string_view, std::size_t>;

LastUses last_uses(const Recipe& recipe, const std::vector<bool>& needed) {
  LastUses uses;
  for (std::size_t s = 0; s < recipe.steps.size(); ++s) {
    if (!needed[s]) continue;
    for (const std::string& name : recipe.steps[s].of) uses[name] = s;
  }
  return uses;
}

// Lets go of the large operands of step `s` that neither a later step needs nor is kept;
// whether there were any.
bool release(Trace& trace, const Recipe& recipe, std::size_t s, const LastUses& uses,
             const std::set<std::string_view>& kept) {
  std::size_t gone = 0;
  for (const std::string& name : recipe.steps[s].of) {
    const auto last = uses.find(name);
    const bool still_used = last != uses.end() && last->second > s;
    const Tensor* tensor = trace.find(name);
    const bool is_large = tensor && tensor->values.size() > teaching_numbers;
    if (still_used || kept.contains(name) || !is_large) continue;
    gone += std::erase_if(trace.steps, [&](const Step& step) { return step.name == name; });
  }
  return gone > 0;
}

std::size_t numbers_in(const Trace& trace) {
  std::size_t numbers = 0;
  for (const Given& given : trace.givens) numbers += given.tensor.values.stored_size();
  for (const Step& step : trace.steps) numbers += step.output.values.stored_size();
  return numbers;
}

// Whether the operands of a step hold more numbers than a lesson shows.
bool is_large(const StepRecipe& step, const Trace& trace) {
  std::size_t numbers = 0;
  for (const std::string& name : step.of) numbers += trace.find(name)->values.size();
  return numbers > teaching_numbers;
}

}  // namespace

std::optional<std::size_t> find_step(const Recipe& recipe, std::string_view name_or_number) {
  for (std::size_t s = 0; s < recipe.steps.size(); ++s) {
    if (recipe.steps[s].name == name_or_number || std::to_string(s + 1) == name_or_number) return s;
  }
  return {};
}

Evaluation evaluate_all(Recipe recipe, const WantedSteps& wanted) {
  Evaluation result;
  MemoryBudget budget;
  for (const Given& given : recipe.givens) budget.add(given.tensor, given.name);
  Trace& trace = result.trace;
  trace.convention = recipe.convention;
  trace.environment = recipe.environment;
  for (Given& given : recipe.givens) trace.add(std::move(given));
  trace.length = recipe.steps.size() + recipe.beyond;
  const AxisLabels tokens = recipe.tokens;
  const std::vector<bool> needed = needed_steps(recipe, wanted);
  const std::set<std::string_view> kept = names_to_keep(recipe, wanted);
  const LastUses uses = last_uses(recipe, needed);
  for (Given& given : trace.givens) name_matrix(given.tensor, usual_axes(given.name));
  for (std::size_t s = 0; s < recipe.steps.size(); ++s) {
    const StepRecipe& step = recipe.steps[s];
    const bool ready = step.operation && std::all_of(step.of.begin(), step.of.end(),
                                                     [&](const auto& n) { return trace.find(n); });
    if (!ready || (!needed[s] && is_large(step, trace))) continue;
    try {
      Step made = worked_out(step, trace, tokens);
      budget.add(made.output, made.name);
      made.number = s + 1;
      trace.add(std::move(made));
      if (!wanted.empty() && release(trace, recipe, s, uses, kept)) {
        budget.recount(numbers_in(trace));
      }
    } catch (const InputError& error) {
      result.faults.push_back({s, error.what()});
    } catch (const std::bad_alloc&) {
      result.faults.push_back({s, fmt::format("{}: {}", step.name, out_of_memory())});
    }
  }
  for (Given& given : trace.givens) {  // those that no step uses
    name_leading(given.tensor, "head");
    if (trace.first_uses.contains(given.name) || is_name_of_weight(given.name)) continue;
    label_tokens(given.tensor, tokens);
  }
  return result;
}

Trace evaluate(const Recipe& recipe) {
  Evaluation result = evaluate_all(recipe);
  if (!result.faults.empty()) throw InputError(result.faults.front().message);
  return std::move(result.trace);
}

}  // namespace qkv
