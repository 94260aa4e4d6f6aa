#include "check/judge/conventions.hpp"

#include <numbers>

#include "ops/rope/rotation.hpp"
#include "text/number.hpp"

namespace qkv::inline check {
namespace {

bool takes_any(const StepRecipe& step, const std::vector<std::string>& names) {
  return std::ranges::find_first_of(step.of, names) != step.of.end();
}

StepRecipe divided(std::string name, const std::string& operand, double by) {
  StepRecipe step{
      .name = std::move(name), .operation = &scale_operation, .of = {operand}, .options = {}};
  step.options.set("by", by);
  return step;
}

// Divides each log-sum-exp by ln 2 under its own name; later steps use base e again.
std::vector<Variant> with_base_2(const Recipe& recipe, const Trace&) {
  Variant base_2{.recipe = recipe};
  std::vector<StepRecipe>& steps = base_2.recipe->steps;
  for (StepRecipe step : std::exchange(steps, {})) {
    for (std::string& operand : step.of) {
      if (contains(base_2.changed, operand)) operand += " by e";
    }
    if (step.operation != &log_sum_exp_operation) {
      steps.push_back(std::move(step));
      continue;
    }
    const std::string name = step.name;
    step.name += " before";
    steps.push_back(step);
    steps.push_back(divided(name, step.name, std::numbers::ln2));
    steps.push_back(divided(name + " by e", name, std::numbers::log2e));
    base_2.changed.push_back(name);
  }
  if (base_2.changed.empty()) return {};
  return {std::move(base_2)};
}

// True if the step is the gradient of the other one.
bool goes_back_through(const StepRecipe& step, const StepRecipe& forward) {
  const BackwardRule rule = forward.operation->backward({0, forward.of.size(), &forward.options});
  return step.operation == rule.operation && step.of[1] == forward.of[0];
}

bool is_reduced(const StepRecipe& step) {
  return step.operation == &cross_entropy_operation &&
         step.options.word("reduction", "mean") != "none";
}

// Swaps sum and mean in a loss and in its gradient, and if `with_later` in each later loss that
// depends on them. Another step has to show it: a summed loss alone is a mistake.
Variant with_other_reduction(const Recipe& recipe, const StepRecipe& loss, bool with_later) {
  Variant other{.recipe = recipe};
  std::vector<const StepRecipe*> losses = {&loss};
  for (StepRecipe& step : other.recipe->steps) {
    const bool follows = takes_any(step, other.changed);
    if (with_later && follows && is_reduced(step)) losses.push_back(&step);
    const bool is_loss = step.name == loss.name || losses.back() == &step;
    const bool goes_back = std::ranges::any_of(
        losses, [&](const StepRecipe* one) { return goes_back_through(step, *one); });
    if (!is_loss && !goes_back && !follows) continue;
    other.changed.push_back(step.name);
    (is_loss ? other.companions : other.deciding).push_back(step.name);
    if (!is_loss && !goes_back) continue;
    const bool is_sum = step.options.word("reduction", "mean") == "sum";
    step.options.set("reduction", std::string(is_sum ? "mean" : "sum"));
  }
  return other;
}

std::vector<Variant> with_other_reductions(const Recipe& recipe, const Trace&) {
  std::vector<Variant> variants;
  for (const StepRecipe& step : recipe.steps) {
    if (!is_reduced(step)) continue;
    variants.push_back(with_other_reduction(recipe, step, true));
    if (variants.back().companions.size() > 1)
      variants.push_back(with_other_reduction(recipe, step, false));
  }
  std::erase_if(variants, [](const Variant& one) { return one.deciding.empty(); });
  return variants;
}

// Counts ALiBi's distances from an end of the keys. The weights stay the same under a causal mask.
std::vector<Variant> with_alibi_from_an_end(const Recipe& recipe, const Trace&) {
  std::vector<Variant> variants;
  for (const std::string end : {"first", "last"}) {
    Variant counted{.recipe = recipe};
    for (StepRecipe& step : counted.recipe->steps) {
      const bool is_alibi = step.operation == &alibi_operation;
      if (is_alibi) step.options.set(std::string(alibi_counted), end);
      const bool follows = !step.operation->makes_weights && takes_any(step, counted.changed);
      if (is_alibi || follows) counted.changed.push_back(step.name);
    }
    if (!counted.changed.empty()) variants.push_back(std::move(counted));
  }
  return variants;
}

// Returns the number that a step divides by, or its forward step if it is a gradient; else 0.
double divisor_of(const Step& step, const Trace& trace) {
  for (const Step& forward : trace.steps) {
    const std::optional<EquivalentPlacement>& other = forward.operation->equivalent_placement;
    if (!other) continue;
    if (&forward != &step && !goes_back_through(step, forward)) continue;
    return other->there(trace.call(forward)).number("by", 0);
  }
  return 0;
}

using WithConstant = Tensor (*)(const Operation& operation, Call call, double to);

Tensor divided_by(const Operation& operation, Call call, double to) {
  Options options = *call.options;
  options.set("by", to);
  call.options = &options;
  return operation.compute(call);
}

Tensor multiplied_by_root(const Operation& operation, Call call, double to) {
  return divided_by(operation, std::move(call), 1 / to);
}

// Powers of `to` instead of e: to^x = e^(x · ln to).
Tensor with_base(const Operation& operation, Call call, double to) {
  Tensor operand = *call.inputs.front();
  for (double& x : operand.values.mutable_span()) x *= std::log(to);
  call.inputs.front() = &operand;
  return operation.compute(call);
}

// A logarithm to base 2, times ln 2.
Tensor times_ln_2(const Operation& operation, Call call, double to) {
  Tensor result = operation.compute(call);
  for (double& x : result.values.mutable_span()) x *= to / std::numbers::ln2;
  return result;
}

struct Constant {
  std::string name;
  double value = 0;
  WithConstant with = nullptr;
};

Constant constant_of(const Step& step, const Trace& trace) {
  const bool has_powers = step.operation == &softmax_operation || step.operation == &exp_operation;
  if (has_powers && step.of.size() == 1) return {"e", std::numbers::e, with_base};
  if (step.operation == &log_sum_exp_operation) return {"ln 2", std::numbers::ln2, times_ln_2};
  const bool multiplies = step.options.has("by") && !step.options.if_number("by") &&
                          step.options.word("by", "").starts_with("1/");
  const double divisor = divisor_of(step, trace);
  const double number = multiplies ? 1 / divisor : divisor;
  const double inside = std::round(number * number);
  const bool is_root = std::abs(number * number - inside) < 1e-9;
  return {is_root ? fmt::format("√{}", inside) : fmt::format("{}", number), number,
          multiplies ? multiplied_by_root : divided_by};
}

// Returns the index of each of the lesson's columns in the other pairing.
std::vector<std::size_t> other_places(const Call& rope, std::size_t columns) {
  const RopeOptions options = RopeOptions::of(rope);
  const bool are_halves = options.pairing == Pairing::halves;
  return mapped_places(columns, [&](std::size_t j) {
    if (j >= options.width) return j;
    const PairPlace place = pair_place(options.pairing, options.width, j);
    const std::size_t second = place.is_first ? 0 : 1;
    return are_halves ? 2 * place.pair + second : place.pair + second * options.width / 2;
  });
}

// Returns the index of each of the lesson's columns where the numbers are nearest, in all of these
// matrices together. Of large ones some rows are enough.
std::vector<std::size_t> nearest_places(const Trace& trace, const std::vector<std::string>& names,
                                        const std::vector<SubmittedArray>& submitted,
                                        std::size_t columns) {
  constexpr std::size_t most_rows = 64;
  std::vector<double> distances(columns * columns);
  for (const SubmittedArray& matrix : submitted) {
    const Tensor& right = trace.at(matrix.name);
    if (!matrix.fits || !contains(names, matrix.name) || right.columns() != columns) continue;
    const std::size_t rows = std::min(most_rows, right.values.size() / columns);
    for (std::size_t i = 0; i < rows * columns * columns; ++i) {
      const std::size_t row = i / (columns * columns) * columns;
      const double gap =
          matrix.cells[row + i % columns].value - right.values[row + i / columns % columns];
      distances[i % (columns * columns)] += std::isfinite(gap) ? gap * gap : 0;
    }
  }
  auto by_distance = mapped_places(columns * columns, std::identity());
  std::ranges::stable_sort(by_distance, {}, [&](std::size_t at) { return distances[at]; });
  std::vector<std::size_t> places(columns, columns);
  std::vector<bool> taken(columns);
  for (const std::size_t at : by_distance) {
    if (places[at / columns] < columns || taken[at % columns]) continue;
    places[at / columns] = at % columns;
    taken[at % columns] = true;
  }
  return places;
}

// Matrices with the steps that rotate them.
struct Rotations {
  std::map<std::string, const Step*> rotated;  // queries and keys, and what keeps their columns
  std::map<std::string, const Step*> before;   // what they were, and their norms' operands
};

Rotations rotations_in(const Trace& trace) {
  // Each row of their results is a row of an operand, perhaps times a constant.
  constexpr const Operation* keepers[] = {&append_operation, &repeat_kv_operation, &take_operation,
                                          &scale_operation};
  Rotations all;
  for (const Step& step : trace.steps) {
    const bool keeps_columns = contains(keepers, step.operation) && !step.options.has("columns");
    const bool rotates = step.operation == &rope_operation;
    if (rotates) all.rotated.emplace(step.name, &step);
    for (const std::string& input : step.of) {
      if (keeps_columns && all.rotated.contains(input))
        all.rotated.emplace(step.name, all.rotated.at(input));
    }
    const Step* made = rotates ? trace.find_step(step.of.front()) : nullptr;
    for (; made != nullptr; made = trace.find_step(made->of.front())) {
      all.before.emplace(made->name, &step);
      if (made->operation != &rms_norm_operation) break;
    }
  }
  return all;
}

// Where these steps rotate: queries and keys alike, since one alone is a mistake. Those before the
// rotation may have the same order.
std::vector<Variant> with_other_columns_of(const Rotations& found,
                                           const std::vector<const Step*>& ropes,
                                           std::span<const std::array<const Step*, 2>> alike) {
  const auto rotated_by = [](const auto& steps, const auto& these) {
    return filtered(
        steps, [&](const auto& one) { return contains(these, one.second); },
        [](const auto& one) { return one.first; });
  };
  Variant rotated{.columns = ColumnOrder::other_pairing, .least = 2};
  decltype(rotated.alike) alike_before;
  for (const auto& [query, key] : alike) {
    const std::array queries{query}, keys{key};
    rotated.alike.push_back({rotated_by(found.rotated, queries), rotated_by(found.rotated, keys)});
    alike_before.push_back({rotated_by(found.before, queries), rotated_by(found.before, keys)});
  }
  rotated.changed = rotated_by(found.rotated, ropes);
  Variant all = rotated;
  all.deciding = rotated.changed;
  all.companions = rotated_by(found.before, ropes);
  all.changed.insert(all.changed.end(), all.companions.begin(), all.companions.end());
  std::vector<Variant> variants = {rotated, all};
  for (const Variant& variant : {rotated, all}) {
    variants.push_back(variant);
    variants.back().columns = ColumnOrder::any;
  }
  if (ropes.size() < found.rotated.size() || alike.empty() || found.before.empty()) return variants;
  // Where each rotation is wrong, what comes before it shows the order.
  Variant& before = variants.emplace_back(all);
  before.alike = std::move(alike_before);
  before.deciding = all.companions;
  before.companions = before.nearer = all.deciding;
  return variants;
}

// In all layers, or in one.
std::vector<Variant> with_other_columns(const Recipe&, const Trace& trace) {
  const Rotations found = rotations_in(trace);
  std::vector<std::array<const Step*, 2>> alike;
  for (const Step& step : trace.steps) {
    if (step.operation != &score_operation) continue;
    const auto queries = found.rotated.find(step.of[0]), keys = found.rotated.find(step.of[1]);
    if (queries != found.rotated.end() && keys != found.rotated.end())
      alike.push_back({queries->second, keys->second});
  }
  std::vector<Variant> variants = with_other_columns_of(
      found, mapped(found.rotated, [](const auto& one) { return one.second; }), alike);
  for (std::size_t k = 0; alike.size() > 1 && k < alike.size(); ++k) {
    std::ranges::move(with_other_columns_of(found, {alike[k].begin(), alike[k].end()},
                                            std::span(alike).subspan(k, 1)),
                      std::back_inserter(variants));
  }
  return variants;
}

std::size_t place_of(const Recipe& recipe, std::string_view name) {
  const auto step = std::ranges::find(recipe.steps, name, &StepRecipe::name);
  return static_cast<std::size_t>(step - recipe.steps.begin());
}

// Returns the steps from `from` back along first operands to the first one of `stop`, inclusive. If
// there is none: empty, or if `may_end` those to a given.
std::vector<std::size_t> chain_back(const Recipe& recipe, const std::string& from,
                                    const Operation& stop, bool may_end) {
  std::vector<std::size_t> chain;
  std::string name = from;
  while (true) {
    const std::size_t at = place_of(recipe, name);
    if (at == recipe.steps.size() || recipe.steps[at].of.empty())
      return may_end ? chain : std::vector<std::size_t>();
    chain.push_back(at);
    if (recipe.steps[at].operation == &stop) return chain;
    name = recipe.steps[at].of.front();
  }
}

// Returns the steps to put it behind: the first one `upstream`, or any further back to the next.
std::vector<std::size_t> places_before(const Recipe& recipe, const StepRecipe& step,
                                       const EquivalentPlacement& equivalent_placement) {
  std::vector<std::size_t> places;
  const std::string* from = &step.of.front();
  for (const Operation* stop : equivalent_placement.upstream) {
    const bool is_first = places.empty();
    const std::vector<std::size_t> chain = chain_back(recipe, *from, *stop, !is_first);
    if (chain.empty()) return places;
    places.insert(places.end(), is_first ? chain.end() - 1 : chain.begin(), chain.end());
    from = &recipe.steps[chain.back()].of.front();
  }
  return places;
}

// Moves a step's gradient, too: that of `at` belongs to the numbers behind the moved step.
void move_back(const StepRecipe& moved, const std::string& at, const Options& there,
               Recipe& recipe) {
  for (std::size_t s = 0; s < recipe.steps.size(); ++s) {
    StepRecipe& step = recipe.steps[s];
    if (goes_back_through(step, moved))
      step.options = moved.operation->equivalent_placement->here();
    if (step.through != at || step.operation == &accumulate_grad_operation) continue;
    const std::string gradient = std::exchange(step.of.front(), step.of.front() + " before");
    std::ranges::replace(step.of, at, at + " before");
    if (place_of(recipe, step.of.front()) < recipe.steps.size()) continue;
    recipe.steps.insert(recipe.steps.begin() + static_cast<std::ptrdiff_t>(s++),
                        {.name = gradient + " before",
                         .operation = moved.operation,
                         .of = {gradient},
                         .options = there});
  }
}

// Moves a step behind step `at`, which keeps its name; the old place becomes a no-op. Two steps
// that are moved to one place are one step there.
void move_step(const StepRecipe& moved, const std::string& at, const Options& there,
               Recipe& recipe) {
  const Operation* operation = moved.operation;
  recipe.steps[place_of(recipe, moved.name)].options = operation->equivalent_placement->here();
  StepRecipe step{.name = at, .operation = operation, .of = {at + " before"}, .options = there};
  if (place_of(recipe, step.of.front()) < recipe.steps.size()) return;
  const std::size_t place = place_of(recipe, at);
  recipe.steps[place].name = step.of.front();
  recipe.steps.insert(recipe.steps.begin() + static_cast<std::ptrdiff_t>(place) + 1,
                      std::move(step));
  move_back(moved, at, there, recipe);
}

// Moves steps to where programs may apply them (`EquivalentPlacement`): all together, as a model of
// several layers does, then each alone. The moved step itself shows nothing: scores that were not
// scaled look as if the queries had been.
std::vector<Variant> with_moved_steps(const Recipe& recipe, const Trace& trace) {
  std::vector<Variant> alone;     // one step moved to one of its places
  std::vector<Variant> together;  // as a model moves them: each to its k-th place
  std::size_t count = 0;
  for (std::size_t s = 0; s < recipe.steps.size(); ++s) {
    const StepRecipe& step = recipe.steps[s];
    const Step* made = trace.find_step(step.name);
    if (!made || !step.operation->equivalent_placement) continue;
    const Options there = step.operation->equivalent_placement->there(trace.call(*made));
    const auto places = places_before(recipe, step, *step.operation->equivalent_placement);
    count += places.empty() ? 0 : 1;
    for (std::size_t k = 0; k < places.size(); ++k) {
      alone.push_back({.recipe = recipe});
      if (k == together.size()) together.push_back({.recipe = recipe});
      std::vector<std::size_t> way = {s};  // back along first operands to the place
      while (way.back() != places[k])
        way.push_back(place_of(recipe, recipe.steps[way.back()].of.front()));
      for (Variant* moved : {&alone.back(), &together[k]}) {
        move_step(step, recipe.steps[places[k]].name, there, *moved->recipe);
        for (const std::size_t i : way) {
          moved->changed.push_back(recipe.steps[i].name);
          const std::string gradient = gradient_name(recipe.steps[i].name);
          if (trace.find_step(gradient)) moved->changed.push_back(gradient);
          const bool is_moved = recipe.steps[i].operation->equivalent_placement.has_value();
          if (!is_moved) moved->deciding.push_back(recipe.steps[i].name);
        }
      }
    }
  }
  if (count > 1) alone.insert(alone.begin(), together.begin(), together.end());
  return alone;
}

// Where rotated queries were scaled and have another order of columns, neither shows alone.
std::vector<Variant> with_other_columns_scaled(const Recipe& recipe, const Trace& trace) {
  constexpr std::size_t of_all_layers = 4;  // the first ones
  std::vector<Variant> both;
  std::vector<Variant> orders = with_other_columns(recipe, trace);
  orders.resize(std::min(of_all_layers, orders.size()));
  for (const Variant& moved : with_moved_steps(recipe, trace)) {
    const auto are_scaled = [&](const auto& sides) {
      return std::ranges::find_first_of(sides[0], moved.changed) != sides[0].end();
    };
    for (Variant one : orders) {
      if (one.alike.empty() || !std::ranges::all_of(one.alike, are_scaled)) continue;
      if (one.deciding.empty()) one.deciding = one.changed;
      one.recipe = moved.recipe;
      one.companions.clear();
      for (const std::string& name : moved.changed) {
        if (!contains(one.changed, name)) one.others[name] = "convention.scaled-queries";
      }
      for (const auto& [name, id] : one.others) one.changed.push_back(name);
      both.push_back(std::move(one));
    }
  }
  return both;
}

constexpr Convention conventions[] = {
    {"convention.rope-layout",
     "The columns are in another order, in queries and keys alike: accepted.", with_other_columns},
    {"convention.alibi-shift",
     "ALiBi's distances are counted from an end of the keys, which gives the same weights: "
     "accepted.",
     with_alibi_from_an_end},
    {"convention.lse-base", "The logarithms have base 2: accepted.", with_base_2},
    {"convention.reduction",
     "The loss is a sum where the mean is expected, or the reverse, and the gradients follow it: "
     "accepted.",
     with_other_reductions},
    {"convention.scaled-queries", "The queries were scaled before the product: accepted.",
     with_moved_steps},
    {"convention.rope-layout", {}, with_other_columns_scaled},  // its words stand above
    {"convention.finite-mask", "A very low number stands for -inf: accepted."},
    {"convention.heads-inside", "The heads are the middle axis, or side by side: accepted."},
    {"convention.rounded-constant", "You took {}; one more digit would have done."},
    {"convention.columns", "Your tokens are {}: accepted."},
};

}  // namespace

std::vector<RoundedConstant> rounded_constants(const Step& step, const Call& call,
                                               const Trace& trace, int decimals) {
  const auto [name, value, with] = constant_of(step, trace);
  if (!(value > 0)) return {};
  constexpr int more = 2;  // a constant with more digits than the matrix is no worse
  const int two_digits = std::max(0, 1 - leading_place(value));
  const int from = std::max(decimals, two_digits);
  std::vector<RoundedConstant> results;
  for (int places = from; places <= from + more; ++places) {
    const double to = rounded(value, places);
    if (std::abs(to - value) < 1e-9) break;
    results.push_back(
        {fmt::format("{} as {:.{}f}", name, to, places), with(*step.operation, call, to)});
  }
  return results;
}

void accept_rope_layout(const Trace& trace, std::vector<std::string> names, ColumnOrder order,
                        std::vector<SubmittedArray>& submitted) {
  Rotations all = rotations_in(trace);
  std::map<std::string, const Step*>& ropes = all.rotated;
  ropes.merge(all.before);
  std::erase_if(names, [&](const std::string& name) { return !ropes.contains(name); });
  std::map<std::size_t, std::vector<std::size_t>> nearest;  // of so many columns
  for (SubmittedArray& matrix : submitted) {
    const bool goes_back = matrix.name.starts_with("d_");  // a gradient has its matrix's order
    const auto found = ropes.find(matrix.name.substr(goes_back ? 2 : 0));
    if (!matrix.fits || found == ropes.end() || !contains(names, found->first)) continue;
    const std::size_t columns = trace.at(matrix.name).columns();
    if (order == ColumnOrder::any && !nearest.contains(columns))
      nearest[columns] = nearest_places(trace, names, submitted, columns);
    const std::vector<std::size_t> places = order == ColumnOrder::any
                                                ? nearest[columns]
                                                : other_places(trace.call(*found->second), columns);
    matrix.cells = matrix.cells.runs(matrix.cells.size(), 1, [&](std::size_t i) {
      return i - i % columns + places[i % columns];
    });
  }
}

std::span<const Convention> all_conventions() { return conventions; }

std::string_view lesson_step_of(std::string_view name) { return name.substr(0, name.find(' ')); }

}  // namespace qkv::inline check
