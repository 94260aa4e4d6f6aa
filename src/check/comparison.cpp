#include "check/comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "check/arrange.hpp"
#include "check/learner.hpp"
#include "tensor/error.hpp"

namespace qkv {
namespace {

// From the coarsest on.
constexpr UsualTolerance usual[] = {
    {Precision::bfloat16, "bfloat16", {1.6e-2, 1e-5}, "torch.testing.assert_close"},
    {Precision::float16, "float16", {1e-3, 1e-5}, "torch.testing.assert_close"},
    {Precision::float32, "float32", {1.3e-6, 1e-5}, "torch.testing.assert_close"},
    {Precision::float64, "float64", {1e-7, 0}, "numpy.testing.assert_allclose"},
    {Precision::digits, "numbers in digits", {1e-7, 0}, "numpy.testing.assert_allclose"},
};

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

// Whether one of the two has -inf and the other a number so low that softmax makes 0 of it as well.
bool are_masks(double one, double other) {
  const auto stands_for = [](double low, double mask) {
    return mask == -infinity && low <= finite_mask;
  };
  return stands_for(one, other) || stands_for(other, one);
}

bool differ_by_masks_alone(const ComparedStep& step) {
  const std::span<const double> actual = step.actual->tensor.values;
  const std::span<const double> desired = step.desired->tensor.values;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!is_close(actual[i], desired[i], step.tolerance) && !are_masks(actual[i], desired[i]))
      return false;
  }
  return true;
}

void compare_numbers(ComparedStep& step, const ToleranceChoice& choice) {
  step.precision = coarser(step.actual->precision, step.desired->precision);
  step.tolerance = usual_tolerance(step.precision).tolerance;
  if (choice.relative || choice.absolute) {  // what is not asked for is NumPy's, whatever the bits
    const Tolerance& numpy = usual_tolerance(Precision::float64).tolerance;
    step.tolerance = {.relative = choice.relative.value_or(numpy.relative),
                      .absolute = choice.absolute.value_or(numpy.absolute)};
  }
  const Tensor& actual = step.actual->tensor;
  const Tensor& desired = step.desired->tensor;
  if (without_leading_ones(actual.shape()) != without_leading_ones(desired.shape())) {
    step.sameness = Sameness::other_shape;
    return;
  }
  step.difference = difference_of(actual.values, desired.values, step.tolerance);
  step.sameness = step.difference.identical         ? Sameness::identical
                  : step.difference.mismatched == 0 ? Sameness::close
                                                    : Sameness::differs;
  step.finite_mask = step.sameness == Sameness::differs && differ_by_masks_alone(step);
}

ComparedStep compared(const std::string& name, const SideIndex& actual, const SideIndex& desired,
                      const ToleranceChoice& choice) {
  ComparedStep step{.name = name, .actual = actual.find(name), .desired = desired.find(name)};
  if (step.actual == nullptr) {
    step.sameness = Sameness::only_desired;
  } else if (step.desired == nullptr) {
    step.sameness = Sameness::only_actual;
  } else {
    compare_numbers(step, choice);
  }
  return step;
}

bool is_missing(Sameness sameness) {
  return sameness == Sameness::only_actual || sameness == Sameness::only_desired;
}

bool counts(Sameness sameness, bool both_whole) {
  if (is_missing(sameness)) return both_whole;
  return sameness == Sameness::differs || sameness == Sameness::other_shape;
}

[[noreturn]] void refuse_strangers(const Side& actual, const Side& desired) {
  const auto names = [](const Side& side) {
    constexpr std::size_t most = 8;
    std::vector<std::string_view> some;
    for (std::size_t i = 0; i < std::min(most, side.matrices.size()); ++i) {
      some.push_back(side.matrices[i].name);
    }
    return fmt::format("{}{}", fmt::join(some, ", "), side.matrices.size() > most ? ", …" : "");
  };
  throw InputError(fmt::format(
      "{} and {} have no step in common, so there is nothing to compare; the first has {}, the "
      "second {}: name arrays and files after the lesson's steps",
      actual.name, desired.name, names(actual), names(desired)));
}

// A file that does not read as numbers is somebody's notes, unless the other side has a matrix of
// its name.
void refuse_unread(const Side& side, const SideIndex& other) {
  for (const UnreadFile& file : side.unread) {
    if (other.find(file.name) != nullptr) throw InputError(file.why);
  }
}

}  // namespace

const UsualTolerance& usual_tolerance(Precision precision) {
  return *std::find_if(std::begin(usual), std::end(usual),
                       [&](const UsualTolerance& one) { return one.precision == precision; });
}

Comparison compare(const Side& actual, const Side& desired, const ToleranceChoice& choice) {
  const SideIndex actual_index(actual);
  const SideIndex desired_index(desired);
  refuse_unread(actual, desired_index);
  refuse_unread(desired, actual_index);
  const bool both_whole = actual.whole && desired.whole;
  Comparison comparison;
  std::optional<std::size_t> first_mask;
  bool in_common = false;
  for (const std::string& name : names_of(actual_index, desired_index)) {
    comparison.steps.push_back(compared(name, actual_index, desired_index, choice));
    const ComparedStep& step = comparison.steps.back();
    in_common = in_common || !is_missing(step.sameness);
    std::optional<std::size_t>& first = step.finite_mask ? first_mask : comparison.first;
    if (!first && counts(step.sameness, both_whole)) first = comparison.steps.size() - 1;
  }
  if (!comparison.first) comparison.first = first_mask;
  if (!in_common && !both_whole) refuse_strangers(actual, desired);
  return comparison;
}

}  // namespace qkv
