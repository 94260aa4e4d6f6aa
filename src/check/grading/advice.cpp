#include "check/grading/advice.hpp"

#include <random>

#include "check/diagnose/hypothesis.hpp"

namespace qkv::inline check {
namespace {

// The numbers from one form of a mistake.
struct WrongVersion {
  std::string_view id;
  Tensor numbers;
};

bool look_alike(const Tensor& a, const Tensor& b, double unit) {
  const auto are_alike = [&](double x, double y) { return is_close(x, y, {.absolute = unit}); };
  return a.rows() == b.rows() && a.columns() == b.columns() &&
         std::ranges::equal(a.values, b.values, are_alike);
}

constexpr std::size_t largest_side = 8;
constexpr std::size_t most_matrices = 8;
constexpr double unit_of_hand_work = 0.001;  // for work to three decimals

// True for at most two decimals and two digits before the point: 0.25, -12, 1.5.
bool is_short(double value) {
  const double hundredths = value * 100;
  return std::abs(value) < 100 && std::abs(hundredths - std::round(hundredths)) < 1e-9;
}

// Evaluates the recipe with random givens between -1 and 1. A given that can't have these, such as
// whole-number ids, stays as it is.
Trace with_other_numbers(const Recipe& recipe) {
  Recipe other = recipe;
  std::mt19937 engine(1);
  Trace trace = evaluate(other);
  for (Given& given : other.givens) {
    const Tensor before = given.tensor;
    for (double& value : given.tensor.values.mutable_span()) {
      value = 2 * static_cast<double>(engine()) / static_cast<double>(std::mt19937::max()) - 1;
    }
    Evaluation evaluation = evaluate_all(other);
    if (evaluation.faults.empty()) {
      trace = std::move(evaluation.trace);
    } else {
      given.tensor = before;
    }
  }
  return trace;
}

}  // namespace

std::vector<IndistinguishablePair> indistinguishable_mistakes(const Trace& trace, double unit) {
  const Judgement untouched = judge(trace, {}, {});
  const std::vector<StepView> all = Hypothesis(untouched, trace).sources();
  std::vector<IndistinguishablePair> found;
  const auto add_once = [&](IndistinguishablePair one) {
    if (!contains(found, one)) found.push_back(std::move(one));
  };
  for (const StepView& step : std::span(all).subspan(trace.givens.size())) {
    const std::string name(step.name);
    std::vector<WrongVersion> known;
    for (const Mistake& mistake : step.operation->mistakes) {
      Versions forms = versions_of(mistake.change, step);
      const auto alike = std::ranges::count_if(
          forms, [&](const Tensor& made) { return look_alike(made, *step.tensor, unit); });
      const bool has_free_number = mistake.evidence.least > 1;  // some of its forms are near
      if (alike > 0 && (!has_free_number || alike == std::ssize(forms)))
        add_once({name, mistake.id, {}});
      for (Tensor& made : forms) {
        for (const WrongVersion& other : known) {
          if (other.id != mistake.id && look_alike(made, other.numbers, unit))
            add_once({name, mistake.id, other.id});
        }
        known.push_back({mistake.id, std::move(made)});
      }
    }
  }
  return found;
}

std::vector<IndistinguishablePair> invisible_mistakes(const Trace& trace, double unit) {
  std::vector<IndistinguishablePair> found = indistinguishable_mistakes(trace, unit);
  std::erase_if(found, [](const IndistinguishablePair& one) { return !one.other.empty(); });
  return found;
}

bool is_for_hand_work(const Trace& trace) {
  const bool is_small = std::ranges::all_of(trace.steps, [](const Step& step) {
    return step.output.rows() <= largest_side && step.output.columns() <= largest_side &&
           step.output.matrices() <= most_matrices;
  });
  if (!is_small) return false;
  std::size_t count = 0, shorts = 0;
  for (const Given& given : trace.givens) {
    for (const double value : given.tensor.values) {
      count += value == 0 ? 0 : 1;
      shorts += value != 0 && is_short(value) ? 1 : 0;
    }
  }
  return shorts * 2 >= count;
}

std::vector<Fault> undetectable_mistakes(const Lesson& lesson, const Trace& trace) {
  const std::vector<IndistinguishablePair> hidden = invisible_mistakes(trace, unit_of_hand_work);
  if (hidden.empty()) return {};
  const std::vector<IndistinguishablePair> always =
      invisible_mistakes(with_other_numbers(lesson.recipe), unit_of_hand_work);
  std::vector<Fault> faults;
  const auto add = [&](std::size_t s, const std::string& ids, std::string_view what) {
    if (ids.empty()) return;
    faults.push_back(
        {lesson.texts[s].place,
         fmt::format("with a mistake ({}) {} comes out the same; other {} would show it", ids,
                     trace.steps[s].name, what),
         Fault::Kind::advice});
  };
  for (std::size_t s = 0; s < trace.steps.size(); ++s) {
    std::string by_numbers, by_sizes;
    for (const IndistinguishablePair& mistake : hidden) {
      if (mistake.step != trace.steps[s].name) continue;
      const bool needs_sizes = contains(always, mistake);
      // A single row, as in decoding, is intended: there is nothing to confuse it with.
      const bool is_meant = trace.steps[s].of.size() > 1 || trace.steps[s].output.rows() == 1;
      if (needs_sizes && is_meant) continue;
      std::string& ids = needs_sizes ? by_sizes : by_numbers;
      ids += fmt::format("{}{}", ids.empty() ? "" : ", ", mistake.id);
    }
    add(s, by_numbers, "numbers");
    add(s, by_sizes, "sizes");
  }
  return faults;
}

std::vector<Fault> long_numbers(const Lesson& lesson, const Trace& trace) {
  std::vector<Fault> faults;
  for (std::size_t g = 0; g < trace.givens.size(); ++g) {
    const auto& [name, tensor] = trace.givens[g];
    const auto first = std::ranges::find_if_not(tensor.values, is_short);
    if (first == tensor.values.end()) continue;
    const auto at = static_cast<std::size_t>(first - tensor.values.begin());
    const CellReference cell = cell_at(name, tensor, at);
    const auto count =
        std::count_if(first, tensor.values.end(), [](double x) { return !is_short(x); });
    faults.push_back({lesson.given_places[g],
                      fmt::format("{} is {}{}: slow by hand; whole numbers and halves are faster",
                                  reference_text(cell, tensor, trace.token_layout), *first,
                                  count == 1 ? "" : fmt::format(" (and {} more)", count - 1)),
                      Fault::Kind::advice});
  }
  return faults;
}

}  // namespace qkv::inline check
