#include <atomic>

#include "ops/attention/softmax.hpp"
#include "tensor/matmul.hpp"
#include "trace/trace.hpp"

namespace qkv::inline trace {
namespace {

// For each step, whether a requested one depends on it. Operands precede their step.
std::vector<bool> needed_steps(const Recipe& recipe, const RequestedSteps& wanted) {
  if (wanted.empty()) return std::vector<bool>(recipe.steps.size(), true);
  std::vector<bool> needed(recipe.steps.size());
  for (const std::string& name : wanted) {
    if (const auto step = step_index(recipe, name)) needed[*step] = true;
  }
  std::set<std::string_view> operands;
  for (std::size_t s = needed.size(); s-- > 0;) {
    const StepRecipe& step = recipe.steps[s];
    if (operands.contains(step.name)) needed[s] = true;
    if (!needed[s]) continue;
    operands.insert(step.of.begin(), step.of.end());
    operands.insert(step.through);
  }
  return needed;
}

AttentionPart part_of(const StepRecipe& step) {
  return step.operation ? attention_part(*step.operation) : AttentionPart::none;
}

// The steps of an attention of which only the result is needed; none once it is finished, or if
// its numbers must be stored after all.
using FusedSteps = std::vector<std::size_t>;

// The attention that ends with step `s`; empty unless only its result is needed.
FusedSteps attention_to(std::size_t s, const Recipe& recipe, const Liveness& liveness) {
  if (part_of(recipe.steps[s]) != AttentionPart::result) return {};
  FusedSteps steps = {s};
  AttentionPart expected = AttentionPart::weights;
  while (true) {
    const StepRecipe& step = recipe.steps[steps.back()];
    if (step.of.empty()) return {};
    const std::string& operand = step.of.front();
    if (liveness.uses.at(operand).size() != 1 || liveness.wanted.contains(operand)) return {};
    std::size_t place = steps.back();  // a step's operands precede it, and mostly stand close by
    do {
      if (place-- == 0) return {};  // it is a given
    } while (recipe.steps[place].name != operand);
    steps.push_back(place);
    const AttentionPart part = part_of(recipe.steps[place]);
    const bool is_start = part == AttentionPart::scores && expected == AttentionPart::between;
    if (part != expected && !is_start) return {};
    expected = AttentionPart::between;
    if (!is_start) continue;
    std::ranges::reverse(steps);
    return steps;
  }
}

// Returns the position of the first number that fits, as "row 1, column 2".
std::optional<std::string> first_place(const Tensor& tensor, bool (*is_such)(double)) {
  const auto found = std::find_if(tensor.values.begin(), tensor.values.end(), is_such);
  if (found == tensor.values.end()) return {};
  const auto place = static_cast<std::size_t>(found - tensor.values.begin());
  return fmt::format("row {}, column {}", place / tensor.columns() % tensor.rows() + 1,
                     place % tensor.columns() + 1);
}

bool is_nan_cell(double value) { return std::isnan(value); }

// Explains a NaN in a result: a NaN in an operand, infinities, an undefined case or an overflow.
std::string nan_cause(const Operation& operation, const Call& call) {
  const auto operand_with = [&](bool (*is_such)(double)) -> std::string {
    for (std::size_t k = 0; k < call.inputs.size(); ++k) {
      const auto place = first_place(*call.inputs[k], is_such);
      if (place) return fmt::format("{} of {} is", *place, call.names[k]);
    }
    return {};
  };
  const std::string nan = operand_with(is_nan_cell);
  if (!nan.empty()) return nan + " nan; look where it comes from";
  const std::string infinite = operand_with([](double value) { return std::isinf(value); });
  if (!infinite.empty()) {
    return fmt::format("infinities met (inf − inf or 0 · inf); {} infinite", infinite);
  }
  const bool is_small = std::ranges::all_of(call.inputs, [](const Tensor* input) {
    constexpr double no_overflow = 1e100;  // of squares and sums
    return std::ranges::all_of(input->values, [](double x) { return std::abs(x) < no_overflow; });
  });
  if (!is_small) {
    return "its terms grew beyond 1.8e308, the largest number; make its operands smaller";
  }
  if (!operation.undefined.empty()) return std::string(operation.undefined);
  return "0 was divided by 0; " + as_shown(operation.zero_division_hint, call.token_layout);
}

/// True if the tensor contains NaN. Parallel, since it reads every number of every step.
bool contains_nan(const Tensor& tensor) {
  std::atomic<bool> found = false;
  tensor.values.for_each_piece([&](std::span<const double> piece) {
    parallel_for(piece.size(), std::size_t{1} << 16, 1, [&](std::size_t begin, std::size_t end) {
      if (has_nan(piece.subspan(begin, end - begin))) found = true;
    });
  });
  return found;
}

// Names the matrices whose heads a later step needs, after steps that work row by row.
std::set<std::string> names_with_heads(std::span<const StepRecipe> steps) {
  std::set<std::string> names;
  for (std::size_t s = steps.size(); s-- > 0;) {
    const StepRecipe& step = steps[s];
    if (!step.operation || step.of.empty()) continue;
    const Operation& operation = *step.operation;
    const bool needs = operation.needs_heads && operation.needs_heads(step.of.size(), step.options);
    const bool works_by_rows = operation.fill_row || operation.in_place;
    if (needs || (works_by_rows && names.contains(step.name))) names.insert(step.of.front());
  }
  return names;
}

Tensor compute_step(const Step& step, const Trace& trace) {
  const Call call = trace.call(step);
  Tensor result = result_of(*step.operation, call);
  // Lazy operations make no NaN from other numbers (Operation::in_place).
  if (!result.values.are_stored() || !contains_nan(result)) return result;
  throw InputError("{}: {} is not a number: {}", call.step,
                   first_place(result, is_nan_cell).value(), nan_cause(*step.operation, call));
}

// True if the operands of a step hold more numbers than a lesson shows.
bool is_large(const StepRecipe& step, const Trace& trace) {
  std::size_t numbers = 0;
  for (const std::string& name : step.of) {
    const Tensor& operand = *trace.find(name);
    numbers += operand.matrices() * operand.rows() * operand.columns();  // also if fused
  }
  return numbers > small_tensor_limit;
}

// Returns the tensor's axes, two at least, without its values.
Tensor frame_of(const Tensor& tensor) { return as_matrix({.axes = tensor.axes, .values = {}}); }

/// Evaluates one recipe, step by step.
class Evaluator {
 public:
  Evaluator(Recipe recipe, const RequestedSteps& wanted, const Trace* like)
      : recipe_(std::move(recipe)),
        like_(like),
        lets_go_(!wanted.empty()),
        looks_(recipe_, wanted),
        with_heads_(names_with_heads(recipe_.steps)) {
    for (std::size_t end = 0; lets_go_ && end < recipe_.steps.size(); ++end) {
      if (!looks_.needed[end]) continue;
      FusedSteps steps = attention_to(end, recipe_, looks_);
      if (steps.empty()) continue;
      for (const std::size_t s : steps) fused_of_[s] = fused_.size();
      fused_.push_back(std::move(steps));
    }
  }

  Evaluation all() && {
    trace_.token_layout = recipe_.token_layout;
    trace_.environment = recipe_.environment;
    for (Given& given : recipe_.givens) {
      budget_.add(given.tensor, given.name);
      frames_[given.name] = frame_of(given.tensor);
      trace_.add(std::move(given));
    }
    trace_.length = recipe_.steps.size() + recipe_.omitted_steps;
    infer_axis_names(trace_);
    for (std::size_t s = 0; s < recipe_.steps.size(); ++s) {
      attempt(s, [&] {
        if (must_evaluate(s)) make(s);
      });
    }
    for (const FusedSteps& attention : fused_) forget(attention);  // one of its steps has failed
    name_remaining_axes(trace_, tokens_);
    return std::move(result_);
  }

 private:
  bool has_operands(std::size_t s) const {
    return std::ranges::all_of(recipe_.steps[s].of, [&](const auto& n) { return trace_.find(n); });
  }

  bool must_evaluate(std::size_t s) const {
    const StepRecipe& step = recipe_.steps[s];
    return step.operation && has_operands(s) && (looks_.needed[s] || !is_large(step, trace_));
  }

  // Checks that the gradients that a step takes have the shape of what they are gradients of.
  // Returns false if that has not been evaluated.
  bool may_go_back(std::size_t s) const {
    const StepRecipe& step = recipe_.steps[s];
    if (step.through.empty()) return true;
    const auto frame = frames_.find(step.through);
    if (frame == frames_.end()) return false;
    const bool is_sum = step.operation == &accumulate_grad_operation;
    for (const std::string& name : std::span(step.of).first(is_sum ? step.of.size() : 1)) {
      const Tensor gradient = frame_of(*trace_.find(name));
      if (gradient.shape() == frame->second.shape()) continue;
      throw InputError("{}: {} ({}) must be {}, the shape of {}, whose gradient it is", step.name,
                       name, shown_shape(gradient, trace_.token_layout),
                       shown_shape(frame->second, trace_.token_layout), step.through);
    }
    return true;
  }

  // The step before evaluation. From here on the axes of its operands are known.
  Step begun(std::size_t s) {
    require_operand_count(recipe_.steps[s]);
    Step step{recipe_.steps[s], {}};
    learn_axes(trace_, step, tokens_, with_heads_);
    return step;
  }

  void make(std::size_t s) {
    const auto fused = fused_of_.find(s);
    if (fused != fused_of_.end() && is_fused(s, fused_[fused->second])) return;
    if (!has_operands(s) || !may_go_back(s)) return;  // one of them may have failed just now
    Step step = begun(s);
    step.output = computed(step);
    add(s, std::move(step));
    release_operands(s);
  }

  Tensor computed(const Step& step) const {
    const Step* known = like_ ? like_->find_step(step.name) : nullptr;
    const auto is_shared = [&](const std::string& name) {
      const Tensor* there = like_->find(name);
      return there && there->values.shares(trace_.at(name).values);
    };
    if (known && step == *known && std::ranges::all_of(step.of, is_shared)) return known->output;
    Tensor output = compute_step(step, trace_);
    if (!known || output.shape() != known->output.shape()) return output;
    const double last_bits = 1e-13 * std::max(1.0, largest_magnitude(output.values));
    const bool is_same =
        difference_of(output.values, known->output.values, {.absolute = last_bits}).mismatched == 0;
    return is_same ? known->output : output;
  }

  // True if step `s` was fused: its numbers are left out, or it ends an attention of such steps.
  bool is_fused(std::size_t s, FusedSteps& attention) {
    if (attention.empty()) return false;
    Step step = begun(s);
    if (s != attention.back()) {
      if (auto frame = fused_frame(*step.operation, trace_.call(step))) {
        step.output = *std::move(frame);
        add(s, std::move(step));
        return true;
      }
    } else if (auto made = fused_result(attention, step)) {
      step.output = std::move(made->result);
      const FusedSteps steps = std::exchange(attention, {});
      keep_weights(steps, made->weights);
      add(s, std::move(step));
      std::ranges::for_each(steps, [&](auto t) { release_operands(t); });
      return true;
    }
    store_after_all(std::exchange(attention, {}), s);
    return false;
  }

  // Returns the result of an attention that `last` ends; nothing if its numbers must be stored.
  std::optional<FusedAttention> fused_result(const FusedSteps& attention, const Step& last) const {
    std::vector<FusedStep> steps;
    for (const std::size_t s : std::span(attention).first(attention.size() - 1)) {
      const Step& step = trace_.step_at(recipe_.steps[s].name);
      steps.push_back({step.operation, trace_.call(step)});
    }
    steps.push_back({last.operation, trace_.call(last)});
    std::optional<FusedAttention> made = fused_attention(steps);
    if (made && contains_nan(made->result)) return {};
    return made;
  }

  // The weights are kept, lazy, if the arithmetic of the result is shown.
  void keep_weights(const FusedSteps& attention, const Values& weights) {
    const std::string& name = recipe_.steps[attention.end()[-2]].name;
    const bool are_kept = looks_.kept.contains(name);
    if (are_kept) std::ranges::find(trace_.steps, name, &Step::name)->output.values = weights;
    trace_.has_lazy = trace_.has_lazy || are_kept;
    forget(attention, are_kept ? name : "");
  }

  // Evaluates the fused steps before `s`.
  void store_after_all(const FusedSteps& attention, std::size_t s) {
    for (const std::size_t before : attention) {
      if (before >= s) return;
      const auto is_it = [&](const Step& step) { return step.name == recipe_.steps[before].name; };
      bool is_made = false;
      attempt(before, [&] {
        if (!has_operands(before)) return;
        Tensor result = compute_step(trace_.step_at(recipe_.steps[before].name), trace_);
        budget_.add(result, recipe_.steps[before].name);
        std::ranges::find_if(trace_.steps, is_it)->output = std::move(result);
        is_made = true;
      });
      if (!is_made) std::erase_if(trace_.steps, is_it);
      release_operands(before);
    }
  }

  void add(std::size_t s, Step step) {
    budget_.add(step.output, step.name);
    step.number = s + 1;
    frames_[step.name] = frame_of(step.output);
    trace_.add(std::move(step));
  }

  // Releases the large operands of step `s` that no later step needs and that are not kept.
  void release_operands(std::size_t s) {
    if (!lets_go_) return;
    for (const std::string& name : recipe_.steps[s].of) {
      const auto uses = looks_.uses.find(name);
      const bool still_used = uses != looks_.uses.end() && uses->second.back() > s;
      const Step* step = trace_.find_step(name);
      const bool is_large = step && step->output.values.size() > small_tensor_limit;
      if (still_used || looks_.kept.contains(name) || !is_large) continue;
      budget_.remove(step->output);
      trace_.steps.erase(trace_.steps.begin() + (step - trace_.steps.data()));
    }
  }

  void forget(const FusedSteps& attention, std::string_view but = "") {
    for (const std::size_t s : attention) {
      const std::string& name = recipe_.steps[s].name;
      std::erase_if(trace_.steps,
                    [&](const Step& step) { return step.name == name && step.name != but; });
    }
  }

  // A failing step becomes a fault, and the others continue.
  void attempt(std::size_t s, const std::function<void()>& work) {
    try {
      work();
    } catch (const InputError& error) {
      result_.faults.push_back({s, error.what()});
    } catch (const std::bad_alloc&) {
      result_.faults.push_back({s, fmt::format("{}: {}", recipe_.steps[s].name, out_of_memory())});
    }
  }

  Recipe recipe_;
  const Trace* const like_;
  const AxisLabels tokens_ = recipe_.tokens;
  const bool lets_go_;
  const Liveness looks_;
  const std::set<std::string> with_heads_;
  std::vector<FusedSteps> fused_;
  std::map<std::size_t, std::size_t> fused_of_;        // step → index in fused_
  std::map<std::string, Tensor, std::less<>> frames_;  // the axes of all that was evaluated
  MemoryBudget budget_;
  Evaluation result_;
  Trace& trace_ = result_.trace;
};

}  // namespace

Liveness::Liveness(const Recipe& recipe, const RequestedSteps& asked)
    : needed(needed_steps(recipe, asked)), wanted(asked.begin(), asked.end()), kept(wanted) {
  for (const std::string& name : asked) {
    const auto step = step_index(recipe, name);
    if (!step) continue;
    wanted.insert(recipe.steps[*step].name);
    kept.insert(recipe.steps[*step].name);
    kept.insert(recipe.steps[*step].of.begin(), recipe.steps[*step].of.end());
  }
  for (std::size_t s = 0; s < recipe.steps.size(); ++s) {
    if (!needed[s]) continue;
    for (const std::string& name : recipe.steps[s].of) uses[name].push_back(s);
  }
}

std::optional<std::size_t> step_index(const Recipe& recipe, std::string_view name_or_number) {
  for (std::size_t s = 0; s < recipe.steps.size(); ++s) {
    if (recipe.steps[s].name == name_or_number || std::to_string(s + 1) == name_or_number) return s;
  }
  return {};
}

Evaluation evaluate_all(Recipe recipe, const RequestedSteps& wanted, const Trace* like) {
  return Evaluator(std::move(recipe), wanted, like).all();
}

Trace evaluate(Recipe recipe, const RequestedSteps& wanted) {
  Evaluation result = evaluate_all(std::move(recipe), wanted);
  if (!result.faults.empty()) throw InputError(result.faults.front().message);
  return std::move(result.trace);
}

}  // namespace qkv::inline trace
