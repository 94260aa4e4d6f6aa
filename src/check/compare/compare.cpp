#include "check/compare/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "check/intake/layout.hpp"
#include "check/judge/compared_masks.hpp"
#include "text/error.hpp"
#include "text/suggest.hpp"

namespace qkv {
namespace {

Precision coarser(Precision a, Precision b) {
  const auto place = [](Precision precision) { return &usual_tolerance(precision); };
  return place(a) < place(b) ? a : b;
}

// The names of both in the lesson's order, as far as a side knows it.
std::vector<std::string> names_of(const SideIndex& actual, const SideIndex& desired) {
  Names names;
  const auto add = [&](const std::string& name) {
    const bool somewhere = actual.find(name) != nullptr || desired.find(name) != nullptr;
    if (somewhere && !names.contains(name)) names.add(name);
  };
  const bool by_desired = actual.side().order.empty() && !desired.side().order.empty();
  for (const std::string& name : by_desired ? desired.side().order : actual.side().order) add(name);
  for (const SideMatrix& matrix : actual.side().matrices) add(matrix.name);
  for (const SideMatrix& matrix : desired.side().matrices) add(matrix.name);
  return names.all();
}

bool are_same_in_order(const ComparedStep& step) {
  const Values& actual = step.actual->tensor.values;
  const Values& desired = step.desired->tensor.values;
  const bool some = std::ranges::any_of(desired, [](double x) { return std::isfinite(x); });
  return some && actual.size() == desired.size() &&
         difference_of(actual, desired, step.tolerance).mismatched == 0;
}

// How many terms a cell may add up, as far as two dumps tell: the longest axis of the arrays that
// came before it.
class Terms {
 public:
  std::size_t next(const ComparedStep& step) {
    std::size_t longest = 1;
    for (const Axis& axis : step.desired->tensor.axes) longest = std::max(longest, axis.size);
    const std::size_t before = longest_ == 0 ? longest : longest_;
    longest_ = std::max(longest_, longest);
    return before;
  }

 private:
  std::size_t longest_ = 0;
};

void compare_numbers(ComparedStep& step, const ToleranceChoice& choice, bool two_lessons,
                     Terms& terms) {
  step.precision = coarser(step.actual->precision, step.desired->precision);
  const auto asked = choice.of(step.name);
  const std::size_t added = terms.next(step);
  const std::span<const double> numbers = step.desired->tensor.values;
  step.tolerance = asked         ? *asked
                   : two_lessons ? tolerance_of_lessons(numbers)
                                 : tolerance_of_dumps(step.precision, numbers, added);
  if (!asked && !two_lessons) step.terms = added;
  const Tensor& actual = step.actual->tensor;
  const Tensor& desired = step.desired->tensor;
  if (without_leading_ones(actual.shape()) != without_leading_ones(desired.shape())) {
    step.sameness = Sameness::other_shape;
    step.only_the_shape = are_same_in_order(step);
    return;
  }
  step.difference = difference_of(actual.values, desired.values, step.tolerance);
  if (step.difference.mismatched > 0) accept_masks(step);
  step.sameness = step.difference.identical         ? Sameness::identical
                  : step.difference.mismatched == 0 ? Sameness::close
                                                    : Sameness::differs;
}

ComparedStep compared(const std::string& name, const SideIndex& actual, const SideIndex& desired,
                      const ToleranceChoice& choice, bool after_mask, Terms& terms) {
  ComparedStep step{.name = name, .actual = actual.find(name), .desired = desired.find(name)};
  step.after_mask = after_mask;
  if (step.actual == nullptr) {
    step.sameness = Sameness::only_desired;
  } else if (step.desired == nullptr) {
    step.sameness = Sameness::only_actual;
  } else {
    const bool two_lessons = actual.side().is_lesson && desired.side().is_lesson;
    compare_numbers(step, choice, two_lessons, terms);
  }
  return step;
}

bool counts(Sameness sameness, bool both_whole) {
  if (is_missing(sameness)) return both_whole;
  return sameness == Sameness::differs || sameness == Sameness::other_shape;
}

// Whether a step sets cells to -inf: as its operation says or, where no lesson has it, its name.
bool hides(const std::string& name, const SideIndex& actual, const SideIndex& desired) {
  for (const SideIndex* index : {&actual, &desired}) {
    const SideMatrix* matrix = index->find(name);
    if (matrix && index->side().is_lesson && !matrix->is_given) return matrix->hides;
  }
  return name.find("mask") != std::string::npos;
}

[[noreturn]] void refuse_strangers(const Side& actual, const Side& desired) {
  const auto names = [](const Side& side) {
    std::vector<std::string_view> all;
    for (const SideMatrix& matrix : side.matrices) all.push_back(matrix.name);
    return some_of(all);
  };
  throw InputError(fmt::format(
      "{} and {} have no step in common, so there is nothing to compare; the first has {}, the "
      "second {}: name arrays and files after the lesson's steps",
      actual.name, desired.name, names(actual), names(desired)));
}

// A file that does not read as numbers is a note, unless the other side has a matrix of
// its name.
void refuse_unread(const Side& side, const SideIndex& other) {
  for (const UnreadFile& file : side.unread) {
    if (other.find(file.name) != nullptr) throw InputError(file.why);
  }
}

// A pattern that fits no step would be passed over in silence.
void refuse_idle_tolerances(const ToleranceChoice& choice, const Comparison& comparison) {
  for (const StepTolerance& one : choice.of_steps) {
    const bool fits = std::ranges::any_of(comparison.steps, [&](const ComparedStep& step) {
      return matched(one.steps, step.name).has_value();
    });
    if (fits) continue;
    std::vector<std::string> names;
    for (const ComparedStep& step : comparison.steps) names.push_back(step.name);
    throw InputError(fmt::format("--tol {}={:g}: no step has that name; {}", one.steps,
                                 one.tolerance, did_you_mean(one.steps, names)));
  }
}

}  // namespace

std::optional<std::size_t> first_difference(const Comparison& comparison, bool both_whole) {
  for (std::size_t i = 0; i < comparison.steps.size(); ++i) {
    if (counts(comparison.steps[i].sameness, both_whole)) return i;
  }
  return {};
}

const Side& ours_of(const Side& actual, const Side& desired) {
  return actual.is_lesson ? actual : desired;
}

bool is_missing(Sameness sameness) {
  return sameness == Sameness::only_actual || sameness == Sameness::only_desired;
}

void require(const Required& required, const Side& ours, Comparison& comparison) {
  for (const std::string& name : required.names) {
    if (std::ranges::find(comparison.steps, name, &ComparedStep::name) == comparison.steps.end()) {
      throw InputError(fmt::format("--require {}: {} has no such step", name, ours.name));
    }
  }
  const SideIndex index(ours);
  for (std::size_t i = 0; i < comparison.first.value_or(comparison.steps.size()); ++i) {
    const ComparedStep& step = comparison.steps[i];
    const SideMatrix* own = index.find(step.name);
    if (!is_missing(step.sameness) || own == nullptr) continue;
    const bool named = std::ranges::find(required.names, step.name) != required.names.end();
    if (named || (required.all && !own->is_given)) comparison.first = i;
  }
}

namespace {

// Whether half an export lacks a step of the other side's, or may: two of them may lack the same.
bool is_cut_short(const Comparison& comparison, const Side& actual, const Side& desired) {
  if (actual.half_export && desired.half_export) return true;
  return std::ranges::any_of(comparison.steps, [&](const ComparedStep& step) {
    return (step.sameness == Sameness::only_desired && actual.half_export) ||
           (step.sameness == Sameness::only_actual && desired.half_export);
  });
}

}  // namespace

Comparison compare(const Side& actual, const Side& desired, const ToleranceChoice& choice) {
  const SideIndex actual_index(actual);
  const SideIndex desired_index(desired);
  refuse_unread(actual, desired_index);
  refuse_unread(desired, actual_index);
  const bool both_whole = actual.whole && desired.whole;
  Comparison comparison;
  for (const Side* side : {&actual, &desired}) {
    if (side->half_export) comparison.half_exports.push_back(side->name);
  }
  bool in_common = false;
  bool after_mask = false;
  Terms terms;
  for (const std::string& name : names_of(actual_index, desired_index)) {
    after_mask = after_mask || hides(name, actual_index, desired_index);
    comparison.steps.push_back(
        compared(name, actual_index, desired_index, choice, after_mask, terms));
    in_common = in_common || !is_missing(comparison.steps.back().sameness);
  }
  comparison.first = first_difference(comparison, both_whole);
  comparison.cut_short = is_cut_short(comparison, actual, desired);
  if (!in_common) refuse_strangers(actual, desired);
  refuse_idle_tolerances(choice, comparison);
  return comparison;
}

}  // namespace qkv
