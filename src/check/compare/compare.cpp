#include "check/compare/compare.hpp"

#include "check/diagnose/candidates.hpp"
#include "check/judge/exactness.hpp"
#include "text/unicode.hpp"

namespace qkv::inline check {
namespace {

// Returns the program's arrays as a submission. NaN counts as wrong.
Submission program_submission(ComparedSide& program, const Trace& trace,
                              const ToleranceChoice& choice) {
  Submission submission{.name = program.name};
  for (ComparedMatrix& matrix : program.matrices) {
    if (trace.find(matrix.name) == nullptr || choice.of(matrix.name)) continue;
    if (matrix.written.cells.empty()) continue;  // too large to be read: of another shape
    ParsedArray written = std::move(matrix.written);
    const bool are_digits = written.precision == Precision::digits;
    for (std::size_t i = 0; are_digits && i < written.cells.size(); ++i) {
      if (!std::isnan(written.cells[i].value)) continue;
      Numeral& cell = written.cells.to_write()[i];
      // In the other rows, or not printed.
      if ((matrix.last_row_only || cell.left_out) && !cell.computed) continue;
      if (written.bad_texts.empty()) written.bad_texts.push_back("nan");
      cell.bad_text = 1;
    }
    submission.files.push_back({.file = matrix.name,
                                .name = matrix.name,
                                .written = std::move(written),
                                .is_arranged = matrix.is_arranged});
  }
  return submission;
}

// True if a side has the last row alone: the other rows may differ.
bool has_last_row_only(const ComparedStep& step) {
  const auto has = [](const ComparedMatrix* matrix) { return matrix && matrix->last_row_only; };
  return has(step.actual) || has(step.desired);
}

// True if the numbers are within the tolerance only because it grew with the sums, to more than
// half of a typical number: zeros would be within it, too.
bool is_within_too_wide(const ComparedStep& step) {
  if (step.agreement != Agreement::close || step.terms < 2) return false;
  const Values& desired = step.desired->tensor.values;
  double squares = 0;
  for (const double x : desired) squares += std::isfinite(x) ? x * x : 0;
  const double typical = std::sqrt(squares / static_cast<double>(desired.size()));
  const double allowed = step.tolerance.absolute + step.tolerance.relative * typical;
  const Tolerance usual = tolerance_of_dumps(step.precision, desired, 1);
  return std::max(allowed, step.tolerance.least) > typical / 2 &&
         difference_of(step.actual->tensor.values, desired, usual).mismatched > step.finite_masks;
}

// Returns the index of a step's first cell with a verdict, in display order.
std::size_t shown_place(const StepReport& report, const CellReference& cell, const Trace& own,
                        bool last_row_only) {
  const Tensor& tensor = report.written;
  const std::size_t columns = tensor.columns();
  if (is_shown_transposed(tensor, own.token_layout)) {
    return (cell.matrix * columns + cell.column) * tensor.rows() + cell.row;
  }
  const std::size_t rows = last_row_only ? 1 : tensor.rows();
  return (cell.matrix * rows + (last_row_only ? 0 : cell.row)) * columns + cell.column;
}

// Returns the agreement that a verdict of `check` stands for.
Agreement agreement_of(const StepReport& report, const ComparedStep& step) {
  const bool has_shape = step.agreement != Agreement::other_shape;
  switch (report.verdict) {
    case Verdict::shape: return Agreement::other_shape;
    case Verdict::wrong: return has_shape ? Agreement::differs : Agreement::other_shape;
    case Verdict::carried: return Agreement::follows;
    case Verdict::undecided: return has_shape ? Agreement::undecided : Agreement::close;
    default:
      return step.difference.identical && has_shape ? Agreement::identical : Agreement::close;
  }
}

// Gives a step the verdict of its report. A given that `check` accepts has none.
void take_verdict(CheckReport& checked, ComparedStep& step) {
  StepReport* const found = find_by(checked.steps, step.name, &StepReport::step);
  if (!found) {
    if (step.agreement != Agreement::differs) return;
    step.agreement = Agreement::close;
    step.difference.mismatched = 0;
    step.difference.first.reset();
    return;
  }
  StepReport& report = *found;
  const bool last_row_only = has_last_row_only(step);
  step.agreement = agreement_of(report, step);
  step.tolerance = {.relative = 0, .absolute = report.tolerance};
  step.difference.mismatched = report.cells.wrong;
  step.difference.first.reset();
  if (report.verdict == Verdict::shape) step.only_shape_differs = report.only_shape_differs;
  if (step.agreement == Agreement::differs) {
    step.difference.first = shown_place(report, report.first->cell, checked.own, last_row_only);
    step.tolerance.absolute = report.first->tolerance;
  } else if (step.agreement == Agreement::undecided) {
    const auto first = std::ranges::find(report.verdicts, Verdict::undecided);
    const auto i = static_cast<std::size_t>(first - report.verdicts.begin());
    step.difference.mismatched = report.cells.undecided;
    step.difference.first =
        shown_place(report, cell_at(report.step, report.written, i), checked.own, last_row_only);
  }
  step.judged = std::move(report);
}

// Returns the type of an array's numbers. Text has none; but if float32 holds them all, and one of
// them to more digits than are written by hand, they are float32's.
Precision type_of(const ComparedMatrix& array) {
  if (array.precision != Precision::digits) return array.precision;
  bool is_long = false;
  for (const double x : std::span<const double>(array.tensor.values)) {
    if (std::isfinite(x) && !is_held(x, Precision::float32)) return array.precision;
    is_long = is_long || (std::isfinite(x) && x * 1e9 != std::round(x * 1e9));
  }
  return is_long ? Precision::float32 : array.precision;
}

Precision coarser(Precision a, Precision b) { return &rule_of(a) < &rule_of(b) ? a : b; }

// How much a side tells of the order of its steps: 2 the lesson's, 1 a file's, 0 none.
int order_knowledge(const ComparedSide& side) {
  return !side.order.empty() ? 2 : side.is_sorted_by_name ? 0 : 1;
}

// Returns the names of both sides in the order that a side knows, or sorted.
std::vector<std::string> names_of(const ComparedSideIndex& actual,
                                  const ComparedSideIndex& desired) {
  NameIndex names;
  const auto add = [&](const std::string& name) {
    const bool somewhere = actual.find(name) != nullptr || desired.find(name) != nullptr;
    if (somewhere && !names.contains(name)) names.add(name);
  };
  const int known[] = {order_knowledge(actual.side()), order_knowledge(desired.side())};
  const ComparedSideIndex* sides[] = {&actual, &desired};
  if (known[1] > known[0]) std::swap(sides[0], sides[1]);
  for (const std::string& name : sides[0]->side().order) add(name);
  for (const ComparedSideIndex* side : sides) {
    for (const ComparedMatrix& matrix : side->side().matrices) add(matrix.name);
  }
  std::vector<std::string> all = names.all();
  if (known[0] + known[1] == 0) std::ranges::sort(all, {}, sort_key);
  return all;
}

// Estimates how many terms a cell sums, from two dumps alone: the longest axis of the arrays before
// it, which `longest` keeps.
std::size_t terms_of(const ComparedStep& step, std::size_t& longest) {
  std::size_t own = 1;
  for (const Axis& axis : step.desired->tensor.axes) own = std::max(own, axis.size);
  const std::size_t before = longest == 0 ? own : longest;
  longest = std::max(longest, own);
  return before;
}

// Softmax makes 0 of a score this far below the row's largest: no double is as small as e^-746.
constexpr double mask_gap = 746;

// Returns the cells where one side has -inf and the other a number so low that softmax makes 0 of
// it, too. A fully masked row has none: there the difference matters.
std::vector<std::size_t> masks_of(const ComparedStep& step) {
  const Tensor& tensor = step.desired->tensor;
  const std::span<const double> ours = step.actual->tensor.values;
  const std::span<const double> theirs = tensor.values;
  // Lower than any program's score; -68,000 exceeds float16, and is no mask.
  constexpr double no_score = -1e8;
  const auto is_mask = [&](double x) {
    const bool known = x == -65504 || x == -10000 || x == finite_mask;
    return x <= no_score || (x <= finite_mask && (known || step.may_mask == FiniteMasks::any));
  };
  const auto expects_minus_infinity = [&](std::size_t i) {
    return (ours[i] == -infinity && is_mask(theirs[i])) ||
           (theirs[i] == -infinity && is_mask(ours[i]));
  };
  const bool down = runs_down(tensor) || runs_down(step.actual->tensor);
  const std::size_t length = std::max<std::size_t>(1, down ? tensor.rows() : tensor.columns());
  std::vector<std::size_t> masks;
  for (std::size_t k = 0; k * length < ours.size(); ++k) {
    const Line line = line_at(tensor, k, down);
    double seen = -infinity;
    for (const std::size_t i : line.cells()) {
      if (!expects_minus_infinity(i)) seen = std::max(seen, std::min(ours[i], theirs[i]));
    }
    for (const std::size_t i : line.cells()) {
      if (expects_minus_infinity(i) && ours[i] != theirs[i] &&
          std::max(ours[i], theirs[i]) <= seen - mask_gap)
        masks.push_back(i);
    }
  }
  return masks;
}

// Removes mismatches where one side has -inf and the other a number low enough to mask the same
// key.
void accept_finite_masks(ComparedStep& step) {
  if (step.may_mask == FiniteMasks::none) return;
  const std::vector<std::size_t> masks = masks_of(step);
  if (masks.empty()) return;
  std::vector<double> actual(step.actual->tensor.values.begin(), step.actual->tensor.values.end());
  for (const std::size_t i : masks) actual[i] = step.desired->tensor.values[i];
  step.finite_masks = masks.size();
  step.difference = difference_of(actual, step.desired->tensor.values, step.tolerance);
  step.difference.identical = false;
}

void compare_numbers(ComparedStep& step, const ToleranceChoice& choice, bool two_lessons,
                     std::size_t added) {
  step.precision = coarser(type_of(*step.actual), type_of(*step.desired));
  const auto asked = choice.of(step.name);
  const Tensor& actual = step.actual->tensor;
  const Tensor& desired = step.desired->tensor;
  if (actual.values.size() != desired.values.size()) {
    step.agreement = Agreement::other_shape;
    return;
  }
  step.tolerance = asked         ? *asked
                   : two_lessons ? tolerance_of_lessons(desired.values)
                                 : tolerance_of_dumps(step.precision, desired.values, added);
  if (!asked && !two_lessons) step.terms = added;
  const Difference difference = difference_of(actual.values, desired.values, step.tolerance);
  if (without_leading_ones(actual.shape()) != without_leading_ones(desired.shape())) {
    step.agreement = Agreement::other_shape;
    step.only_shape_differs =
        difference.mismatched == 0 &&
        std::ranges::any_of(desired.values, [](double x) { return std::isfinite(x); });
    return;
  }
  step.difference = difference;
  if (difference.mismatched > 0) accept_finite_masks(step);
  if (const std::size_t printed = printed_of(step)) {
    step.difference.elements = printed;
    step.difference.identical = false;  // nobody knows
  }
  step.agreement = step.difference.identical         ? Agreement::identical
                   : step.difference.mismatched == 0 ? Agreement::close
                                                     : Agreement::differs;
}

// Compares both sides of a step, whose cells sum so many terms.
void compare_sides(ComparedStep& step, const ComparedSide& actual, const ComparedSide& desired,
                   const ToleranceChoice& choice, std::size_t terms) {
  if (step.actual == nullptr) {
    step.agreement = Agreement::only_desired;
  } else if (step.desired == nullptr) {
    step.agreement = Agreement::only_actual;
  } else {
    compare_numbers(step, choice, actual.is_lesson && desired.is_lesson, terms);
    const bool two_dumps = !actual.is_lesson && !desired.is_lesson;
    const bool may_be_other = step.agreement == Agreement::differs && !open_name_of(step).empty();
    if (two_dumps && (may_be_other || is_within_too_wide(step)))
      step.agreement = Agreement::undecided;
  }
}

// Makes a step differ if the numbers that were not printed cannot all be right: their sum is off by
// more than the cells' tolerance, as independent errors add up, and rounding in single precision.
void judge_sum(ComparedStep& step) {
  if (step.agreement != Agreement::close || !step.actual->sum == !step.desired->sum) return;
  const auto [part, whole] = step.actual->sum ? std::pair(step.actual, step.desired)
                                              : std::pair(step.desired, step.actual);
  const std::span<const double> numbers = whole->tensor.values;
  const bool is_scaled = step.judged && step.judged->written.values.size() == numbers.size() &&
                         step.judged->accepted_convention == "convention.scaled-queries";
  // The printed numbers tell the scale.
  const double scale = is_scaled ? nearest_factor(step.judged->written.values, numbers) : 1;
  double sum = 0;
  double tolerances = 0;
  double partial_sums = 0;
  for (const double number : numbers) {
    const double x = scale * number;
    sum += x;
    tolerances += step.tolerance.absolute + step.tolerance.relative * std::abs(x);
    partial_sums += std::abs(sum);
  }
  const double independent = 8 / std::sqrt(static_cast<double>(numbers.size()));
  const double allowed = std::min(1.0, independent) * tolerances + std::ldexp(partial_sums, -22);
  if (!std::isfinite(sum) || std::abs(*part->sum - sum) <= allowed) return;
  step.agreement = Agreement::differs;
  step.expected_sum = sum;
}

// True if a step sets cells to -inf, by its operation or, without a lesson, by its name.
bool step_masks_cells(const std::string& name, const ComparedSideIndex& actual,
                      const ComparedSideIndex& desired) {
  for (const ComparedSideIndex* index : {&actual, &desired}) {
    const ComparedMatrix* matrix = index->find(name);
    if (matrix && index->side().is_lesson && !matrix->is_given) return matrix->masks_cells;
  }
  // TransformerLens's scores are masked.
  return ascii_lowercase(name).find("mask") != name.npos || name.ends_with(".hook_attn_scores");
}

// True if scores are usually called so. Programs mask them in place, and dump what they have then.
bool are_named_scores(const std::string& name) {
  const std::string last = ascii_lowercase(name.substr(name.rfind('.') + 1));
  return last.find("score") != last.npos || last == "s" || last == "att" || last == "attn";
}

[[noreturn]] void refuse_unknown_tensors(const ComparedSideIndex& actual,
                                         const ComparedSideIndex& desired,
                                         const std::vector<std::string>& maps) {
  throw InputError(
      "{} and {} have no step in common, so there is nothing to compare; the first has {}, the "
      "second {}: name arrays and files after the lesson's steps{}",
      actual.side().name, desired.side().name, abbreviated_list(actual.names()),
      abbreviated_list(desired.names()),
      maps.empty() ? "" : "; by their numbers: " + map_options(maps));
}

// An unreadable file is only a note, unless the other side has a matrix of its name.
void refuse_unreadable_files(const ComparedSide& side, const ComparedSideIndex& other) {
  for (const UnreadableFile& file : side.unreadable_files) {
    if (other.find(file.name) != nullptr) throw InputError(file.why);
  }
}

// Without this error, a pattern that matches no step would be ignored silently.
void refuse_unused_tolerances(const ToleranceChoice& choice, const Comparison& comparison) {
  for (const auto& [pattern, tolerance] : choice.of_steps) {
    const bool fits = std::ranges::any_of(
        comparison.steps,
        [&pattern = pattern](const ComparedStep& step) { return matches(pattern, step.name); });
    if (fits) continue;
    throw InputError("--tol {}={:g}: no step has that name; {}", pattern, tolerance,
                     did_you_mean(pattern, {comparison.steps, &ComparedStep::name}));
  }
}

// True if an incomplete export lacks a step of the other side's. Two may lack the same one.
bool is_cut_short(const Comparison& comparison, const ComparedSide& actual,
                  const ComparedSide& desired) {
  if (actual.incomplete_export && desired.incomplete_export) return true;
  return std::ranges::any_of(comparison.steps, [&](const ComparedStep& step) {
    return (step.agreement == Agreement::only_desired && actual.incomplete_export) ||
           (step.agreement == Agreement::only_actual && desired.incomplete_export);
  });
}

// Returns the step that leaves the fewest to search, whether it agrees or not. The steps stand in
// the lesson's order.
std::string halving_step(const std::vector<const Step*>& steps) {
  std::string best;
  std::size_t most = 0;
  std::map<std::string_view, std::set<std::string_view>> ancestors;  // of each, itself included
  for (const Step* step : steps) {
    std::set<std::string_view>& own = ancestors[step->name];
    own.insert(step->name);
    for (const std::string& input : step->of) {
      const auto before = ancestors.find(input);
      if (before != ancestors.end()) own.insert(before->second.begin(), before->second.end());
    }
    const std::size_t left_out = std::min(own.size(), steps.size() + 1 - own.size());
    if (left_out >= most) best = step->name;
    most = std::max(most, left_out);
  }
  return best;
}

// Returns maps "theirs=ours" of arrays that fit no step by name, and have the numbers of one that
// had no array.
std::vector<std::string> suggested_maps(const Comparison& comparison, bool ours_is_actual) {
  constexpr std::size_t most = 16;  // arrays that are looked up
  // By their number of cells, and by that of their last rows.
  std::map<std::size_t, std::vector<const ComparedMatrix*>> missing;
  std::set<const ComparedMatrix*> taken;  // another array is another step
  std::vector<const ComparedMatrix*> unknown;
  for (const ComparedStep& step : comparison.steps) {
    if (!is_missing(step.agreement)) continue;
    const ComparedMatrix* matrix = step.actual != nullptr ? step.actual : step.desired;
    if ((step.actual != nullptr) == ours_is_actual) {
      const std::size_t count = matrix->tensor.values.size();
      missing[count].push_back(matrix);
      if (matrix->tensor.rows() > 1) missing[count / matrix->tensor.rows()].push_back(matrix);
    } else if (unknown.size() < most && step.name.find_first_of("*=") == std::string::npos) {
      unknown.push_back(matrix);
    }
  }
  std::vector<std::string> maps;
  for (const ComparedMatrix* theirs : unknown) {
    const auto& candidates = missing[theirs->tensor.values.size()];
    const auto fit = [&](const ComparedMatrix* ours) {
      return taken.contains(ours) ? Likeness::none : likeness_of(*ours, *theirs);
    };
    const auto found = std::ranges::max_element(candidates, {}, fit);
    if (found == candidates.end() || fit(*found) == Likeness::none) continue;
    maps.push_back(fmt::format("{}={}", theirs->name, (*found)->name));
    taken.insert(*found);
  }
  return maps;
}

// Returns the steps of both sides, still to be compared; adds the number of terms of each.
std::vector<ComparedStep> paired_steps(const ComparedSideIndex& actual,
                                       const ComparedSideIndex& desired,
                                       std::vector<std::size_t>& terms) {
  const std::vector<std::string> names = names_of(actual, desired);
  // Scores may be masked in place, unless masked ones stand beside them.
  const bool in_place = std::ranges::none_of(names, [](const std::string& name) {
    return ascii_lowercase(name).find("masked") != name.npos;
  });
  bool after_mask = false;
  std::size_t longest_axis = 0;
  std::vector<ComparedStep> steps;
  for (const std::string& name : names) {
    after_mask = after_mask || step_masks_cells(name, actual, desired);
    const FiniteMasks may_mask = after_mask                           ? FiniteMasks::any
                                 : in_place && are_named_scores(name) ? FiniteMasks::usual
                                                                      : FiniteMasks::none;
    const ComparedStep& step = steps.emplace_back(ComparedStep{.name = name,
                                                               .actual = actual.find(name),
                                                               .desired = desired.find(name),
                                                               .may_mask = may_mask});
    terms.push_back(step.actual && step.desired ? terms_of(step, longest_axis) : 0);
  }
  return steps;
}

}  // namespace

std::optional<CheckReport> check_program(const Lesson& lesson, const Trace& trace,
                                         const ToleranceChoice& choice, ComparedSide& program,
                                         bool allow_columns) {
  const Submission submission = program_submission(program, trace, choice);
  if (submission.files.empty()) return {};
  CheckReport report =
      check_submission(lesson, trace, submission,
                       {.accepts_nan = false, .allow_columns = allow_columns, .needs_loss = true});
  for (const StepReport& step : report.steps) {
    const auto matrix = std::ranges::find(program.matrices, step.step, &ComparedMatrix::name);
    if (step.accepted_convention == "convention.columns")
      matrix->tensor = transposed(matrix->tensor);
    if (step.accepted_convention == "convention.heads-inside")
      matrix->tensor.values = step.written.values;
  }
  return report;
}

// A step that differs counts before one that is undecided.
std::optional<std::size_t> first_difference(const Comparison& comparison, bool both_whole) {
  std::optional<std::size_t> undecided;
  for (std::size_t i = 0; i < comparison.steps.size(); ++i) {
    const Agreement agreement = comparison.steps[i].agreement;
    const bool is_other = agreement == Agreement::differs || agreement == Agreement::other_shape;
    if (is_missing(agreement) ? both_whole : is_other) return i;
    if (agreement == Agreement::undecided && !undecided) undecided = i;
  }
  return undecided;
}

std::string_view open_name_of(const ComparedStep& step) {
  const std::string& actual = step.actual->open_name;
  return actual.empty() ? step.desired->open_name : actual;
}

std::size_t printed_of(const ComparedStep& step) {
  return std::max(step.actual != nullptr ? step.actual->printed : 0,
                  step.desired != nullptr ? step.desired->printed : 0);
}

bool is_missing(Agreement agreement) {
  return agreement == Agreement::only_actual || agreement == Agreement::only_desired;
}

void require(const Required& required, const ComparedSide& ours, Comparison& comparison) {
  for (const std::string& name : required.names) {
    if (!contains(comparison.steps, name, &ComparedStep::name)) {
      throw InputError("--require {}: {} has no such step", name, ours.name);
    }
  }
  const ComparedSideIndex index(ours);
  for (std::size_t i = 0; i < comparison.first.value_or(comparison.steps.size()); ++i) {
    const ComparedStep& step = comparison.steps[i];
    const ComparedMatrix* own = index.find(step.name);
    const bool named = contains(required.names, step.name);
    const bool is_ours = required.all && own != nullptr && !own->is_given;
    if (is_missing(step.agreement) && (named || is_ours)) comparison.first = i;
  }
}

Comparison compare(const ComparedSide& actual, const ComparedSide& desired,
                   const ToleranceChoice& choice, std::optional<CheckReport> checked) {
  const ComparedSideIndex actual_index(actual);
  const ComparedSideIndex desired_index(desired);
  refuse_unreadable_files(actual, desired_index);
  refuse_unreadable_files(desired, actual_index);
  Comparison comparison;
  comparison.by_name = order_knowledge(actual) + order_knowledge(desired) == 0;
  for (const ComparedSide* side : {&actual, &desired}) {
    if (side->incomplete_export) comparison.incomplete_exports.push_back(side->name);
  }
  std::vector<std::size_t> terms;
  comparison.steps = paired_steps(actual_index, desired_index, terms);
  parallel_for(terms.size(), 1, small_tensor_limit, [&](std::size_t i, std::size_t) {
    compare_sides(comparison.steps[i], actual, desired, choice, terms[i]);
  });
  if (checked) {
    for (ComparedStep& step : comparison.steps) {
      if (!is_missing(step.agreement) && !choice.of(step.name)) take_verdict(*checked, step);
    }
    comparison.own = std::move(checked->own);
  }
  std::ranges::for_each(comparison.steps, judge_sum);
  comparison.first = first_difference(comparison, actual.whole && desired.whole);
  comparison.cut_short = is_cut_short(comparison, actual, desired);
  comparison.maps = suggested_maps(comparison, actual.is_lesson);
  if (std::ranges::all_of(comparison.steps, is_missing, &ComparedStep::agreement))
    refuse_unknown_tensors(actual_index, desired_index, comparison.maps);
  refuse_unused_tolerances(choice, comparison);
  return comparison;
}

std::optional<Bisection> bisect(const Comparison& comparison, const Trace& trace) {
  if (!comparison.first) return {};
  const ComparedStep& first = comparison.steps[*comparison.first];
  const Step* last = trace.find_step(first.name);
  if (last == nullptr || is_missing(first.agreement)) return {};
  std::set<std::string_view> agreeing, undecided;
  for (const ComparedStep& step : comparison.steps) {
    if (is_missing(step.agreement)) continue;
    const bool is_sure = step.agreement != Agreement::undecided && !has_last_row_only(step);
    (is_sure ? agreeing : undecided).insert(step.name);
  }
  Bisection result{.differs = first.name};
  std::set<std::string_view> needed = {last->name};
  std::set<std::string_view> behind_agreeing;  // operands of steps that agree, and theirs
  std::vector<const Step*> missing;
  for (auto step = trace.steps.rbegin(); step != trace.steps.rend(); ++step) {
    const bool agrees = step->number < last->number && agreeing.contains(step->name);
    if (agrees || behind_agreeing.contains(step->name))
      behind_agreeing.insert(step->of.begin(), step->of.end());
    if (!needed.contains(step->name)) continue;
    if (agrees) {
      if (result.agrees.empty()) result.agrees = step->name;
      continue;
    }
    if (&*step != last) missing.insert(missing.begin(), &*step);
    result.has_undecided |= &*step != last && undecided.contains(step->name);
    needed.insert(step->of.begin(), step->of.end());
  }
  result.dump = halving_step(missing);
  const auto is_suspect = [&](const Step* one) { return !behind_agreeing.contains(one->name); };
  std::stable_partition(missing.begin(), missing.end(), is_suspect);
  for (const Step* step : missing) result.not_submitted.push_back(step->name);
  return result;
}

std::string map_options(const std::vector<std::string>& maps) {
  constexpr std::size_t most = 6;
  const auto options = mapped(std::span(maps).first(std::min(most, maps.size())),
                              [](const std::string& map) { return sanitise(shell_word(map)); });
  return fmt::format("--map {}{}", fmt::join(options, " --map "), maps.size() > most ? " …" : "");
}

}  // namespace qkv::inline check
