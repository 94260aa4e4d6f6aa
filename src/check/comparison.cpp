#include "check/comparison.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "check/arrange.hpp"
#include "check/precision.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

// From the coarsest on.
constexpr UsualTolerance usual[] = {
    {Precision::bfloat16, "bfloat16", {1.6e-2, 1e-5}, "torch.testing.assert_close"},
    {Precision::float16, "float16", {1e-3, 1e-5}, "torch.testing.assert_close"},
    {Precision::float32, "float32", {1.3e-6, 1e-5}, "torch.testing.assert_close"},
    {Precision::float64, "float64", {1e-7, 1e-7}, "torch.testing.assert_close"},
    {Precision::digits, "numbers in digits", {1e-7, 1e-7}, "torch.testing.assert_close"},
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
  // Below what no program scores: -68,000 is more than float16 can hold, and no mask.
  constexpr double no_score = -1e8;
  const bool is_masked = step.name.find("mask") != std::string::npos;
  const auto hides = [&](double x) {
    const bool known = x == -65504 || x == -10000 || x == finite_mask;
    return x <= no_score || (x <= finite_mask && (known || is_masked || step.after_mask));
  };
  const auto is_hidden = [&](std::size_t i) {
    return (ours[i] == -infinity && hides(theirs[i])) || (theirs[i] == -infinity && hides(ours[i]));
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
      if (is_hidden(i) && ours[i] != theirs[i] &&
          std::max(ours[i], theirs[i]) <= seen - out_of_sight)
        masks.push_back(i);
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

// How many terms a cell may add up, as far as two dumps tell: the longest axis of the arrays that
// came before it.
class Terms {
 public:
  double next(const ComparedStep& step) {
    std::size_t longest = 1;
    for (const Axis& axis : step.desired->tensor.axes) longest = std::max(longest, axis.size);
    const std::size_t before = longest_ == 0 ? longest : longest_;
    longest_ = std::max(longest_, longest);
    return std::sqrt(static_cast<double>(before));
  }

 private:
  std::size_t longest_ = 0;
};

// Both were worked out here, in float64.
Tolerance of_two_lessons(const ComparedStep& step) {
  double largest = 1;
  for (const double x : step.desired->tensor.values) {
    if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
  }
  return {.relative = 0, .absolute = rule_of(Precision::float64).floor * largest};
}

void compare_numbers(ComparedStep& step, const ToleranceChoice& choice, bool two_lessons,
                     Terms& terms) {
  step.precision = coarser(step.actual->precision, step.desired->precision);
  const auto asked = choice.of(step.name);
  const double factor = terms.next(step);
  const Tolerance& usual_one = usual_tolerance(step.precision).tolerance;
  step.tolerance = asked         ? *asked
                   : two_lessons ? of_two_lessons(step)
                                 : Tolerance{.relative = factor * usual_one.relative,
                                             .absolute = factor * usual_one.absolute};
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

std::optional<std::size_t> first_difference(const Comparison& comparison, bool both_whole) {
  for (std::size_t i = 0; i < comparison.steps.size(); ++i) {
    if (counts(comparison.steps[i].sameness, both_whole)) return i;
  }
  return {};
}

// The program's arrays as somebody would hand them in. What is no number is one that is wrong.
Submission handed_in(Side& program, const Trace& trace, const ToleranceChoice& choice) {
  Submission submission{.name = program.name, .files = {}, .notes = {}, .list = {}};
  for (SideMatrix& matrix : program.matrices) {
    if (trace.find(matrix.name) == nullptr || choice.of(matrix.name)) continue;
    Written written = std::move(matrix.written);
    for (Numeral& cell : written.cells) {
      if (written.precision != Precision::digits || !std::isnan(cell.value)) continue;
      if (written.unread.empty()) written.unread.push_back("nan");
      cell.unread = 1;
    }
    submission.files.push_back({.file = matrix.name,
                                .path = {},
                                .name = matrix.name,
                                .leading = {},
                                .written = std::move(written)});
  }
  return submission;
}

// Where a cell of the lesson's tensor stands in it as people see it.
std::size_t shown_place(const CellReference& cell, const Tensor& tensor, Convention convention) {
  const bool turned = is_turned(tensor, convention);
  const std::size_t rows = turned ? tensor.columns() : tensor.rows();
  const std::size_t columns = turned ? tensor.rows() : tensor.columns();
  const auto [row, column] =
      turned ? std::pair(cell.column, cell.row) : std::pair(cell.row, cell.column);
  return (cell.matrix * rows + row) * columns + column;
}

void take_verdict(StepReport report, const Trace& trace, ComparedStep& step) {
  step.tolerance = {.relative = 0, .absolute = report.unit};
  step.difference.mismatched = report.cells.wrong;
  step.difference.first.reset();
  const bool shape = report.verdict == Verdict::shape;
  const bool misfit = step.sameness == Sameness::other_shape;
  if (shape) {
    step.sameness = Sameness::other_shape;
    step.only_the_shape = report.only_the_shape;
  } else if (report.verdict == Verdict::wrong) {
    step.sameness = misfit ? Sameness::other_shape : Sameness::differs;
    if (!misfit) {
      step.difference.first =
          shown_place(report.first->cell, trace.at(report.step), trace.convention);
    }
  } else if (report.verdict == Verdict::carried) {
    step.sameness = Sameness::follows;
  } else {
    step.sameness = step.difference.identical && !misfit ? Sameness::identical : Sameness::close;
  }
  step.judged = std::move(report);
}

}  // namespace

const Side& ours_of(const Side& actual, const Side& desired) {
  return actual.is_lesson ? actual : desired;
}

bool is_missing(Sameness sameness) {
  return sameness == Sameness::only_actual || sameness == Sameness::only_desired;
}

std::optional<Tolerance> ToleranceChoice::of(std::string_view step) const {
  for (const StepTolerance& one : of_steps) {
    if (matched(one.steps, step)) {
      return Tolerance{.relative = one.tolerance, .absolute = one.tolerance};
    }
  }
  if (!relative && !absolute) return {};
  constexpr Tolerance numpy = {.relative = 1e-7, .absolute = 0};
  return Tolerance{.relative = relative.value_or(numpy.relative),
                   .absolute = absolute.value_or(numpy.absolute)};
}

void judge_program(const Lesson& lesson, const Trace& trace, Side& program,
                   const ToleranceChoice& choice, Comparison& comparison) {
  const Submission submission = handed_in(program, trace, choice);
  if (submission.files.empty()) return;
  CheckReport report = check(lesson, trace, submission, {});
  for (ComparedStep& step : comparison.steps) {
    if (is_missing(step.sameness) || choice.of(step.name)) continue;
    const auto found = std::ranges::find(report.steps, step.name, &StepReport::step);
    if (found != report.steps.end()) {
      take_verdict(std::move(*found), trace, step);
    } else if (step.sameness == Sameness::differs) {  // a given that check finds copied right
      step.sameness = Sameness::close;
      step.difference.mismatched = 0;
      step.difference.first.reset();
    }
  }
  comparison.own = std::move(report.own);
  comparison.first = first_difference(comparison, program.whole);
}

void require(const Required& required, const Side& ours, Comparison& comparison) {
  for (const std::string& name : required.names) {
    if (std::ranges::find(comparison.steps, name, &ComparedStep::name) == comparison.steps.end()) {
      throw InputError(fmt::format("--require {}: {} has no such step", name, ours.name));
    }
  }
  for (std::size_t i = 0; i < comparison.first.value_or(comparison.steps.size()); ++i) {
    const ComparedStep& step = comparison.steps[i];
    const auto own = std::ranges::find(ours.matrices, step.name, &SideMatrix::name);
    if (!is_missing(step.sameness) || own == ours.matrices.end()) continue;
    const bool named = std::ranges::find(required.names, step.name) != required.names.end();
    if (named || (required.all && !own->is_given)) comparison.first = i;
  }
}

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
  bool after_mask = false;
  Terms terms;
  for (const std::string& name : names_of(actual_index, desired_index)) {
    after_mask = after_mask || name.find("mask") != std::string::npos;
    comparison.steps.push_back(
        compared(name, actual_index, desired_index, choice, after_mask, terms));
    in_common = in_common || !is_missing(comparison.steps.back().sameness);
  }
  comparison.first = first_difference(comparison, both_whole);
  if (!in_common) refuse_strangers(actual, desired);
  return comparison;
}

}  // namespace qkv
