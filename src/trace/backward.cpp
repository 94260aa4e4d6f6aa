#include "trace/trace.hpp"

namespace qkv::inline trace {
namespace {

using NameSet = std::set<std::string, std::less<>>;

void require_step(const Recipe& recipe, std::string_view name, std::string_view what) {
  if (step_in(recipe, name)) return;
  if (given_in(recipe, name)) {
    throw InputError("{} names a given: {} is where gradients end; name a step, where they begin",
                     what, name);
  }
  throw InputError("{} names no step: there is none called \"{}\"; {}", what, name,
                   did_you_mean(name, {recipe.steps, &StepRecipe::name}));
}

BackwardRule backward_rule_of(const StepRecipe& step, std::size_t k) {
  if (!step.operation || !step.operation->backward) return {};
  return step.operation->backward({k, step.of.size(), &step.options});
}

// The gradient step of operand k: its operands are dY, X and what the rule saves.
StepRecipe one_gradient(const StepRecipe& step, std::size_t k, std::string name,
                        std::string grad_output) {
  const BackwardRule rule = backward_rule_of(step, k);
  StepRecipe made{std::move(name),
                  rule.operation,
                  {std::move(grad_output), step.of[k]},
                  step.options,
                  step.name};
  for (const Role saved : rule.saved) {
    made.of.push_back(saved == Role::output ? step.name : step.of[static_cast<std::size_t>(saved)]);
  }
  return made;
}

struct UsePosition {
  const StepRecipe* step;
  std::size_t operand;
};

struct BackwardBuilder {
  const Recipe& recipe;
  const BackwardSpec& backward;
  NameSet flows = {}, arrives = {};
  std::map<std::string, std::vector<UsePosition>, std::less<>> uses_of = {};
  std::map<std::string, std::string, std::less<>> gradient_of = {};
  std::vector<StepRecipe> added = {};

  std::vector<StepRecipe> steps() && {
    require_names();
    find_reachable();
    find_incoming();
    for (std::size_t s = recipe.steps.size(); s-- > 0;) {
      if (is_reachable(recipe.steps[s].name)) add(recipe.steps[s].name);
    }
    for (std::size_t g = recipe.givens.size(); g-- > 0;) {
      const std::string& given = recipe.givens[g].name;
      if (is_listed(given) && is_reachable(given)) add(given);
    }
    return std::move(added);
  }

  bool is_listed(const std::string& given) const {
    return backward.wanted.empty() || contains(backward.wanted, given);
  }

  bool is_reachable(const std::string& name) const {
    return flows.contains(name) && arrives.contains(name);
  }

  void require_names() const {
    if (!backward.of.empty()) require_step(recipe, backward.of, "of");
    for (const auto& [step, given] : backward.from) {
      require_step(recipe, step, "from");
      if (!given_in(recipe, given)) {
        throw InputError(
            "from: the gradient of {} is to be the given \"{}\", which is not there; write it as a "
            "[[given]]",
            step, given);
      }
    }
    for (const std::string& given : backward.wanted) {
      if (given_in(recipe, given)) continue;
      if (step_in(recipe, given)) {
        throw InputError(
            "wanted lists givens: {} is a step, and gets its gradient as each step on the way "
            "does; leave it out",
            given);
      }
      throw InputError("wanted: there is no given called \"{}\"; {}", given,
                       did_you_mean(given, {recipe.givens, &Given::name}));
    }
  }

  // Steps that depend on a wanted given along operands that have gradients.
  void find_reachable() {
    for (const Given& given : recipe.givens) {
      if (is_listed(given.name)) flows.insert(given.name);
    }
    for (const StepRecipe& step : recipe.steps) {
      for (std::size_t k = 0; k < step.of.size(); ++k) {
        if (flows.contains(step.of[k]) && backward_rule_of(step, k).operation)
          flows.insert(step.name);
      }
    }
  }

  // What the loss, or a step with a given gradient, depends on.
  void find_incoming() {
    if (!backward.of.empty()) arrives.insert(backward.of);
    for (const auto& [step, given] : backward.from) arrives.insert(step);
    for (std::size_t s = recipe.steps.size(); s-- > 0;) {
      const StepRecipe& step = recipe.steps[s];
      if (!arrives.contains(step.name)) continue;
      for (std::size_t k = step.of.size(); k-- > 0;) {
        if (!backward_rule_of(step, k).operation) continue;
        arrives.insert(step.of[k]);
        if (flows.contains(step.of[k])) uses_of[step.of[k]].push_back({&step, k});
      }
    }
    if (!backward.of.empty() && !flows.contains(backward.of)) {
      throw InputError("of: no numbers flow from a given to {}", backward.of);
    }
    for (const std::string& given : backward.wanted) {
      if (is_reachable(given)) continue;
      throw InputError("wanted: no numbers flow from {} to {}", given,
                       backward.of.empty() ? "what the gradients are given of" : backward.of);
    }
  }

  void add(const std::string& name) {
    const std::string own = gradient_name(name);
    if (name == backward.of) {
      added.push_back({own, &grad_seed_operation, {name}, {}});
      gradient_of[name] = own;
      return;
    }
    const auto is_its_own = [&](const auto& one) { return one.first == name; };
    auto parts = filtered(backward.from, is_its_own, [](const auto& one) { return one.second; });
    std::vector<UsePosition> uses = uses_of[name];
    std::ranges::reverse(uses);  // they were found in reverse order
    const bool alone = uses.size() + parts.size() == 1;
    if (alone && uses.empty()) {
      gradient_of[name] = parts.front();
      return;
    }
    for (std::size_t u = 0; u < uses.size(); ++u) {
      const std::string named = alone ? own : own + "_by_" + name_of_use(uses, u);
      added.push_back(
          one_gradient(*uses[u].step, uses[u].operand, named, gradient_of.at(uses[u].step->name)));
      parts.push_back(named);
    }
    if (!alone) added.push_back({own, &accumulate_grad_operation, parts, {}, name});
    gradient_of[name] = own;
  }

  // "scores", or "scores_1" and "scores_2" if one step uses the name twice.
  static std::string name_of_use(const std::vector<UsePosition>& uses, std::size_t u) {
    const auto of_step = [&](const UsePosition& use) { return use.step == uses[u].step; };
    if (std::ranges::count_if(uses, of_step) == 1) return uses[u].step->name;
    const auto here = uses.begin() + static_cast<long>(u);
    return fmt::format("{}_{}", uses[u].step->name, std::count_if(uses.begin(), here, of_step) + 1);
  }
};

}  // namespace

std::string gradient_name(std::string_view name) { return fmt::format("d_{}", name); }

std::vector<StepRecipe> backward_steps(const Recipe& recipe, const BackwardSpec& backward) {
  std::vector<StepRecipe> steps = BackwardBuilder{recipe, backward}.steps();
  for (const StepRecipe& step : steps) {
    if (!given_in(recipe, step.name) && !step_in(recipe, step.name)) continue;
    throw InputError(
        "{} is the name of a gradient here; call the given or the step that has it something else",
        step.name);
  }
  return steps;
}

StepRecipe backward_step(const Recipe& recipe, std::string name, std::string grad_output,
                         std::string_view through, std::string_view to) {
  require_step(recipe, through, "through");
  const StepRecipe& step = *step_in(recipe, through);
  if (!step.operation) return {std::move(name), nullptr, {std::move(grad_output)}, {}, step.name};
  const auto uses = std::ranges::count(step.of, to);
  if (uses == 0) {
    throw InputError("to: {} is made of {}, not of \"{}\"", through, fmt::join(step.of, " and "),
                     to);
  }
  if (uses > 1) {
    throw InputError("to: {} uses {} {} times; write [backward], which makes a step for each use",
                     through, to, uses);
  }
  const auto k = static_cast<std::size_t>(std::ranges::find(step.of, to) - step.of.begin());
  if (!backward_rule_of(step, k).operation) {
    throw InputError("to: no gradient flows through {} to {}", through, to);
  }
  return one_gradient(step, k, std::move(name), std::move(grad_output));
}

}  // namespace qkv::inline trace
