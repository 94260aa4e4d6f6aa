#include "check/comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "check/arrange.hpp"
#include "check/precision.hpp"
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

// Below the largest score of a row by this much, softmax makes 0 of a score: no double is as small
// as e^-746.
constexpr double out_of_sight = 746;

// Where one side has -inf and the other a number so low that softmax makes 0 of it as well: the
// places of these cells. A row in which nothing is seen has none: there it matters which it is.
std::vector<std::size_t> masks_of(const ComparedStep& step) {
  const Tensor& tensor = step.desired->tensor;
  const std::span<const double> ours = step.actual->tensor.values;
  const std::span<const double> theirs = tensor.values;
  const auto is_hidden = [&](std::size_t i) {
    return (ours[i] == -infinity && theirs[i] <= finite_mask) ||
           (theirs[i] == -infinity && ours[i] <= finite_mask);
  };
  const std::size_t columns = tensor.columns();
  const bool down =
      tensor.axes.back().name == "query" || step.actual->tensor.axes.back().name == "query";
  // Of what softmax takes at a time.
  const std::size_t length = std::max<std::size_t>(1, down ? tensor.rows() : columns);
  const auto place = [&](std::size_t line, std::size_t k) {
    return down ? (line / columns * length + k) * columns + line % columns : line * length + k;
  };
  std::vector<std::size_t> masks;
  for (std::size_t line = 0; line * length < ours.size(); ++line) {
    double seen = -infinity;
    for (std::size_t k = 0; k < length; ++k) {
      const std::size_t i = place(line, k);
      if (!is_hidden(i)) seen = std::max(seen, std::min(ours[i], theirs[i]));
    }
    for (std::size_t k = 0; k < length; ++k) {
      const std::size_t i = place(line, k);
      if (is_hidden(i) && std::max(ours[i], theirs[i]) <= seen - out_of_sight) masks.push_back(i);
    }
  }
  return masks;
}

// Takes the finite masks out of what differs.
void accept_masks(ComparedStep& step) {
  const std::vector<std::size_t> masks = masks_of(step);
  if (masks.empty()) return;
  std::vector<double> actual(step.actual->tensor.values.begin(), step.actual->tensor.values.end());
  for (const std::size_t i : masks) actual[i] = step.desired->tensor.values[i];
  step.finite_masks = masks.size();
  step.difference = difference_of(actual, step.desired->tensor.values, step.tolerance);
  step.difference.identical = false;
}

bool are_same_in_order(const ComparedStep& step) {
  const Values& actual = step.actual->tensor.values;
  const Values& desired = step.desired->tensor.values;
  const bool some = std::ranges::any_of(desired, [](double x) { return std::isfinite(x); });
  return some && actual.size() == desired.size() &&
         difference_of(actual, desired, step.tolerance).mismatched == 0;
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
  bool in_common = false;
  for (const std::string& name : names_of(actual_index, desired_index)) {
    comparison.steps.push_back(compared(name, actual_index, desired_index, choice));
    const ComparedStep& step = comparison.steps.back();
    in_common = in_common || !is_missing(step.sameness);
    if (!comparison.first && counts(step.sameness, both_whole)) {
      comparison.first = comparison.steps.size() - 1;
    }
  }
  if (!in_common && !both_whole) refuse_strangers(actual, desired);
  return comparison;
}

}  // namespace qkv
