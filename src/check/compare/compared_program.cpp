#include "check/compare/compared_program.hpp"

#include <algorithm>
#include <cmath>

#include "check/intake/layout.hpp"

namespace qkv {
namespace {

// The program's arrays as they would be handed in. What is no number is one that is wrong.
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

// Tokens as columns were taken as they are: side by side the numbers stand as the lesson has them.
void turn_over(Side& program, ComparedStep& step) {
  const auto matrix = std::ranges::find(program.matrices, step.name, &SideMatrix::name);
  matrix->tensor = transposed(matrix->tensor);
  const Tensor& actual = step.actual->tensor;
  const Tensor& desired = step.desired->tensor;
  if (without_leading_ones(actual.shape()) != without_leading_ones(desired.shape())) return;
  step.difference = difference_of(actual.values, desired.values, step.tolerance);
  step.sameness = Sameness::differs;
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

void judge_program(const Lesson& lesson, const Trace& trace, Side& program,
                   const ToleranceChoice& choice, Comparison& comparison) {
  const Submission submission = handed_in(program, trace, choice);
  if (submission.files.empty()) return;
  CheckReport report = check(lesson, trace, submission, {});
  for (ComparedStep& step : comparison.steps) {
    if (is_missing(step.sameness) || choice.of(step.name)) continue;
    const auto found = std::ranges::find(report.steps, step.name, &StepReport::step);
    if (found != report.steps.end()) {
      if (found->convention == "convention.columns") turn_over(program, step);
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

}  // namespace qkv
