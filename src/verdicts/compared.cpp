#include "verdicts/verdicts.hpp"

#include "tensor/matmul.hpp"
#include "terminal/grid.hpp"
#include "text/unicode.hpp"

namespace qkv::inline verdicts {
namespace {

// Of each Agreement, in its order.
constexpr std::string_view words[] = {
    "identical",      "within tolerance", "follows from an earlier difference",
    "DIFFERS",        "UNDECIDED",        "OTHER SHAPE",
    "only in ACTUAL", "only in DESIRED"};

// The unit in the last place of a number in the step's type.
double last_place(const ComparedStep& step, double x) {
  for (const ComparedMatrix* side : {step.actual, step.desired}) {
    if (side->decimals) return std::pow(10.0, -*side->decimals);
  }
  const PrecisionRule& rule = rule_of(step.precision);
  return std::ldexp(1, x == 0 ? rule.lowest : std::max(std::ilogb(x) - rule.bits, rule.lowest));
}

/// "rtol=1e-3, atol=1e-5"
std::string tolerance_text(const ComparedStep& step) {
  return fmt::format("rtol={:g}, atol={:g}", step.tolerance.relative, step.tolerance.absolute);
}

// Each step of a program has its own tolerance; the text gives the largest.
std::string judged_tolerance(const Comparison& comparison) {
  double largest = 0;
  for (const ComparedStep& step : comparison.steps) {
    if (step.judged) largest = std::max(largest, step.tolerance.absolute);
  }
  if (largest == 0) return {};
  return fmt::format(
      "Tolerance: each step's own, as in qkv check, {:.2g} at most; numbers that follow from the "
      "program's own earlier numbers are right\n",
      largest);
}

std::string usual_text(const ComparedStep& step) {
  if (step.terms == 0) return tolerance_text(step);
  const std::string whose =
      fmt::format(" (torch.testing.assert_close's for {}{})", rule_of(step.precision).name,
                  step.terms == 1 ? "" : fmt::format(", times √{} for as many terms", step.terms));
  if (!uses_largest(step.precision)) return tolerance_text(step) + whose;
  return fmt::format("{}{}, and at least 2^{} of the step's largest number", tolerance_text(step),
                     whose, std::ilogb(rule_of(step.precision).floor));
}

/// Describes the tolerances, one line per kind of numbers.
std::string tolerances_text(const Comparison& comparison) {
  std::vector<std::string> lines;
  for (const ComparedStep& step : comparison.steps) {
    if (!has_compared_numbers(step) || step.judged) continue;
    std::string line = usual_text(step);
    if (!contains(lines, line)) lines.push_back(line);
  }
  const std::string judged = judged_tolerance(comparison);
  if (lines.empty()) return judged;
  return judged + fmt::format("Tolerance: |actual - desired| <= atol + rtol * |desired|, {}\n",
                              fmt::join(lines, "; "));
}

/// Returns a hint if the difference is within rounding of the digits; otherwise empty.
std::string rounding_hint(const ComparedStep& step) {
  if (step.judged) return {};
  for (const ComparedMatrix* side : {step.actual, step.desired}) {
    if (side->decimals.value_or(0) == 0) continue;  // whole numbers are exact
    const double half_unit = 0.5 * std::pow(10.0, -*side->decimals);
    if (step.difference.largest_absolute > half_unit * (1 + 1e-9)) continue;
    return fmt::format(
        "All are within half a unit of the {} decimals of {}: --atol {:g} allows for rounding.\n",
        *side->decimals, side == step.actual ? "ACTUAL" : "DESIRED", half_unit);
  }
  return {};
}

/// Returns a hint if the relative difference is large only because the number is near zero.
std::string vanishing_hint(const ComparedStep& step) {
  constexpr double units = 1e-12;  // of the largest number: thousands of float64's last places
  const double largest = std::max(1.0, largest_magnitude(step.desired->tensor.values));
  const Difference& difference = step.difference;
  const bool is_rounding = !step.judged && difference.nan_mismatched == 0 &&
                           difference.largest_absolute <= units * largest;
  if (!is_rounding || step.tolerance.absolute > 0) return {};
  const double power = std::pow(10.0, std::ceil(std::log10(difference.largest_absolute)));
  return fmt::format(
      "None differs by more than {:.2g}, which is rounding: --atol {:.0e} allows for it.\n",
      difference.largest_absolute, power < difference.largest_absolute ? 10 * power : power);
}

/// True if a step's difference is only one of these.
bool is_rounding(const ComparedStep& step) {
  return step.agreement == Agreement::differs && !step.expected_sum &&
         !(rounding_hint(step).empty() && vanishing_hint(step).empty());
}

std::string shape_of(const ComparedStep& step) {
  if (step.agreement == Agreement::other_shape) {
    return fmt::format("{}, {}", shape_text(step.actual->tensor.shape()),
                       shape_text(step.desired->tensor.shape()));
  }
  if (has_compared_numbers(step)) return shape_text(best_labelled_tensor(step).shape());
  return shape_text((step.actual != nullptr ? step.actual : step.desired)->tensor.shape());
}

// A difference from NaN has no size.
std::string largest_text(const ComparedStep& step, double largest) {
  if (!has_compared_numbers(step)) return {};
  return step.difference.nan_mismatched > 0 ? "nan" : fmt::format("{:.3g}", largest);
}

std::string table_text(const Comparison& comparison, bool all) {
  std::vector<std::vector<std::string>> rows = {{"step", "shape", "max abs", "max rel", ""}};
  std::size_t spared = 0;
  for (const ComparedStep& step : comparison.steps) {
    const bool is_first = comparison.first && &step == &comparison.steps[*comparison.first];
    if (is_missing(step.agreement) && !all && !is_first) {
      ++spared;
      continue;
    }
    std::string note(words[static_cast<std::size_t>(step.agreement)]);
    if (step.finite_masks > 0) note += " but for the mask";
    if (const std::size_t printed = has_compared_numbers(step) ? printed_of(step) : 0; printed > 0)
      note += fmt::format(" ({} of {} printed)", printed, step.actual->tensor.values.size());
    rows.push_back({sanitise(step.name), shape_of(step),
                    largest_text(step, step.difference.largest_absolute),
                    largest_text(step, step.difference.largest_relative), std::move(note)});
  }
  const std::string text = aligned_columns(rows, {0, 1, 4});
  if (spared == 0) return text;
  return text + fmt::format("and {} that only one side has (--all lists {})\n", spared,
                            spared == 1 ? "it" : "them");
}

// The first difference may be harmless: rounding, or another layout of the right numbers. Then this
// describes the next one.
std::string behind_first(const Comparison& comparison) {
  const ComparedStep& first = comparison.steps[*comparison.first];
  if (!first.only_shape_differs && !is_rounding(first)) return {};
  const auto next = std::ranges::find_if(comparison.steps, [](const ComparedStep& step) {
    return step.agreement == Agreement::other_shape
               ? !step.only_shape_differs
               : step.agreement == Agreement::differs && !is_rounding(step);
  });
  if (next == comparison.steps.end()) return {};
  return fmt::format("The first that differs {} is {}.\n",
                     first.only_shape_differs ? "in more than that" : "by more than rounding",
                     sanitise(next->name));
}

// Finite masks are reported, but are no difference.
std::string masks_text(const Comparison& comparison) {
  const auto has_finite_masks = [](const ComparedStep& step) {
    return step.finite_masks > 0 ||
           (step.judged && step.judged->accepted_convention == "convention.finite-mask");
  };
  auto names = mapped(filtered(comparison.steps, has_finite_masks, &ComparedStep::name), sanitise);
  if (names.empty()) return {};
  constexpr std::size_t most = 4;
  const std::size_t more = names.size() - std::min(most, names.size());
  names.resize(names.size() - more);
  return fmt::format(
      "{}{}: one side has a finite mask where the other has -inf; both hide their keys.\n",
      fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

// NaN on both sides is reported, but is no difference.
std::string nan_on_both_text(const Comparison& comparison) {
  const auto has_nan = [](const ComparedStep& step) { return step.difference.nan_both > 0; };
  const auto names = filtered(comparison.steps, has_nan, [](const ComparedStep& step) {
    return fmt::format("{} ({} of {})", sanitise(step.name), step.difference.nan_both,
                       step.difference.elements);
  });
  if (names.empty()) return {};
  return fmt::format("nan in both at the same places: {}\n", fmt::join(names, ", "));
}

// Describes what mends the shape of a dump whose first axis may be a batch; otherwise empty.
std::string batch_hint(const ComparedStep& step, bool actual_is_lesson) {
  const Tensor& dump = (actual_is_lesson ? step.desired : step.actual)->tensor;
  const Tensor& wanted = (actual_is_lesson ? step.actual : step.desired)->tensor;
  const Shape shape = without_leading_ones(dump.shape());
  const bool may_be_batch = shape.size() > 1 &&
                            shape.size() >= without_leading_ones(wanted.shape()).size() &&
                            dump.values.size() == shape.front() * wanted.values.size();
  if (!may_be_batch) return {};
  return fmt::format("{} may hold a batch of {} sentences: --batch 1 compares the first of them.\n",
                     actual_is_lesson ? "DESIRED" : "ACTUAL", shape.front());
}

std::string shape_hint(const ComparedStep& step, bool actual_is_lesson) {
  if (step.only_shape_differs) return fmt::format("{}\n", only_the_shape_text);
  const std::string batch = batch_hint(step, actual_is_lesson);
  if (!batch.empty()) return batch;
  const Shape shape = step.actual->tensor.shape();
  if (shape.size() < 2 || transposed(shape) != step.desired->tensor.shape()) return {};
  return fmt::format("One has the shape of the other's transpose{}.\n",
                     step.judged ? "; --columns accepts tokens as columns" : "");
}

std::string statistics_text(const ComparedStep& step) {
  const ErrorStatistics errors =
      error_statistics(step.actual->tensor.values, step.desired->tensor.values);
  if (errors.cells == 0 || printed_of(step) > 0) return {};
  const bool are_digits = step.actual->decimals || step.desired->decimals;
  return fmt::format(
      "Mean: {:.3g}, 99th percentile: {:.3g}, units in the last {}: {:.3g}, "
      "cosine: {:.6g}\n",
      errors.mean, errors.percentile,
      are_digits ? "decimal" : fmt::format("place ({})", rule_of(step.precision).name),
      largest_in_last_places(step), errors.cosine);
}

std::string numbers_text(const ComparedStep& step) {
  const Difference& difference = step.difference;
  const std::size_t place = *difference.first;
  const std::string_view aside = difference.nan_mismatched > 0 ? ", nan aside" : "";
  const std::string nan_note =
      aside.empty() ? ""
                    : fmt::format("nan location mismatch: {} of these, with nan on one side only\n",
                                  difference.nan_mismatched);
  const auto shown = [&](const ComparedMatrix& matrix) {
    const double x = matrix.tensor.values[place];
    return std::isnan(x) ? std::abs(x) : x;  // fmt writes a sign of NaN, which says nothing
  };
  return fmt::format(
      "Not equal to tolerance {}\n\n"
      "Mismatched elements: {} / {} ({:.3g}%)\n{}"
      "Max absolute difference: {:.9g}{}\n"
      "Max relative difference: {:.9g}{}\n{}"
      "First mismatch: {}, index [{}] from 0\n"
      " ACTUAL: {}\n DESIRED: {}\n{}{}",
      tolerance_text(step), difference.mismatched, difference.elements,
      100.0 * static_cast<double>(difference.mismatched) / static_cast<double>(difference.elements),
      nan_note, difference.largest_absolute, aside, difference.largest_relative, aside,
      statistics_text(step), sanitise(cell_name(step, place)),
      fmt::join(multi_index(best_labelled_tensor(step).axes, place), ", "), shown(*step.actual),
      shown(*step.desired), rounding_hint(step), vanishing_hint(step));
}

std::string sum_text(const ComparedStep& step) {
  const double given = *(step.actual->sum ? step.actual : step.desired)->sum;
  return fmt::format(
      "No printed number is wrong, but the sum of all is: {:g}, not {:g}. The difference is among "
      "the {} numbers that are not printed.\n",
      given, *step.expected_sum, step.actual->tensor.values.size() - printed_of(step));
}

// "The first that differs is"; of arrays sorted by name, the first may have been computed later.
std::string_view first_words(const Comparison& comparison) {
  const bool are_several =
      std::ranges::count_if(comparison.steps, [](const ComparedStep& step) {
        return step.agreement == Agreement::differs || step.agreement == Agreement::other_shape;
      }) > 1;
  return comparison.by_name && are_several
             ? "Neither side says what was computed first. By name, the first that differs is"
             : "The first that differs is";
}

std::string first_text(const Comparison& comparison, bool actual_is_lesson) {
  const ComparedStep& step = comparison.steps[*comparison.first];
  const std::string name = sanitise(step.name);
  switch (step.agreement) {
    case Agreement::only_actual: return fmt::format("{} is missing in DESIRED.\n", name);
    case Agreement::only_desired: return fmt::format("{} is missing in ACTUAL.\n", name);
    case Agreement::other_shape:
      return fmt::format("{} {}: ACTUAL is {}, DESIRED is {}.\n{}{}", first_words(comparison), name,
                         shape_text(step.actual->tensor.shape()),
                         shape_text(step.desired->tensor.shape()),
                         shape_hint(step, actual_is_lesson), behind_first(comparison));
    case Agreement::undecided:
      if (step.judged) return {};
      if (const std::string own = sanitise(open_name_of(step)); !own.empty()) {
        return fmt::format(
            "{0} is undecided: its numbers differ, and {1} may be another step, which the other "
            "side lacks. If it is {0}, say so with --map.\n",
            name, own);
      }
      return fmt::format(
          "{} is undecided: its tolerance, which grew with the number of summed terms, is as large "
          "as its numbers. Name a tolerance (--rtol, --atol), or compare with a lesson.\n",
          name);
    default:
      return fmt::format("{} {}.\n{}{}", first_words(comparison), name,
                         step.expected_sum       ? sum_text(step)
                         : step.difference.first ? numbers_text(step)
                                                 : "",
                         behind_first(comparison));
  }
}

// Accepted layouts and conventions are reported, but are no difference.
std::string conventions_text(const Comparison& comparison) {
  std::vector<std::pair<std::string, std::vector<std::string>>> notes;
  const auto add_note = [&](const std::string& what, const std::string& name) {
    if (what.empty()) return;
    auto note = std::ranges::find_if(notes, [&](const auto& one) { return one.first == what; });
    if (note == notes.end()) note = notes.insert(note, {what, {}});
    note->second.push_back(sanitise(name));
  };
  for (const ComparedStep& step : comparison.steps) {
    for (const ComparedMatrix* side : {step.actual, step.desired}) {
      if (side != nullptr) add_note(sanitise(side->layout), step.name);
    }
    if (step.judged && step.judged->accepted_convention != "convention.finite-mask") {
      add_note(std::string(step.judged->accepted_convention), step.name);
    }
  }
  std::string text;
  for (const auto& [what, names] : notes)
    text += fmt::format("{}: {}\n", fmt::join(names, ", "), what);
  return text;
}

// Steps in a coarser type than the others are reported; they are a difference only on request.
std::string coarser_text(const Comparison& comparison) {
  std::string text;
  for (const ComparedStep& step : comparison.steps) {
    if (!step.judged || step.judged->coarser_type.empty()) continue;
    text += fmt::format("{}: its numbers are {}, which is coarser than the rest{}\n",
                        sanitise(step.name), step.judged->coarser_type,
                        comparison.same() ? " (--strict: a difference)" : "");
  }
  return text;
}

std::string undecided_text(const Comparison& comparison, const CompareStyle& style) {
  const auto steps = filtered(comparison.steps, &ComparedStep::judged,
                              [](const ComparedStep& step) { return &*step.judged; });
  return undecided_text(steps, "Dump", {.width = style.width});
}

std::string all_same_text(const Comparison& comparison) {
  const auto all = std::ranges::count_if(
      comparison.steps, [](const ComparedStep& step) { return !is_missing(step.agreement); });
  const auto identical =
      std::ranges::count(comparison.steps, Agreement::identical, &ComparedStep::agreement);
  const std::string_view are = identical == all ? "identical" : "the same within the tolerance";
  std::size_t printed = 0;
  std::size_t numbers = 0;
  for (const ComparedStep& step : comparison.steps) {
    const std::size_t there = has_compared_numbers(step) ? printed_of(step) : 0;
    printed += there;
    numbers += there > 0 ? step.actual->tensor.values.size() : 0;
  }
  const std::string part =
      printed == 0 ? ""
                   : fmt::format(" in the {} of {} numbers that are printed", printed, numbers);
  if (comparison.incomplete_exports.empty())
    return fmt::format("All {} are {}{}.\n", all, are, part);
  return fmt::format("All {} that are there agree, but {} is an incomplete export: it has no {}.\n",
                     all, sanitise(comparison.incomplete_exports.front()), manifest_name);
}

std::string names_text(std::span<const std::string> names) {
  return fmt::format("{}", fmt::join(mapped(names, sanitise), ", "));
}

std::string abbreviated_list(std::span<const std::string> names) {
  constexpr std::size_t most = 6;
  return names_text(names.first(std::min(most, names.size()))) + (names.size() > most ? ", …" : "");
}

std::string coverage_text(const Comparison& comparison, const ComparedSide& actual) {
  const Coverage coverage = coverage_of(comparison, actual);
  const auto counted = [](std::size_t count, std::string_view one, std::string_view more) {
    return fmt::format("{} {}", count, count == 1 ? one : more);
  };
  std::string text = counted(coverage.compared, "step was compared", "steps were compared");
  text += coverage.missing.empty()
              ? "; no step is missing"
              : fmt::format("; {} more had no array: {}", coverage.missing.size(),
                            abbreviated_list(coverage.missing));
  text += coverage.unknown.empty()
              ? "; each array fits a step"
              : fmt::format("; {} no step: {}",
                            counted(coverage.unknown.size(), "array fits", "arrays fit"),
                            names_text(coverage.unknown));
  return text + ".\n";
}

std::string bisection_text(const Bisection& bisection) {
  const std::string after = bisection.agrees.empty()
                                ? "the inputs"
                                : fmt::format("{} (agrees)", sanitise(bisection.agrees));
  if (bisection.not_submitted.empty()) {
    return fmt::format("The first difference arises in {} itself, after {}.\n",
                       sanitise(bisection.differs), after);
  }
  return fmt::format(
      "The first difference arises between {} and {} (differs): {} not submitted{}; dump {} to "
      "halve the range.\n",
      after, sanitise(bisection.differs), abbreviated_list(bisection.not_submitted),
      bisection.has_undecided ? ", undecided, or the last row alone" : "",
      sanitise(bisection.dump));
}

// Wraps each line separately.
std::string wrapped_lines(std::string_view lines, std::size_t width) {
  std::string text;
  for (const std::string_view whole : split(lines, '\n')) {
    text += indented_lines(wrapped(whole, width), 0);
  }
  return text;
}

}  // namespace

bool has_compared_numbers(const ComparedStep& step) { return step.difference.elements > 0; }

const Tensor& best_labelled_tensor(const ComparedStep& step) {
  const Tensor& actual = step.actual->tensor;
  const Tensor& desired = step.desired->tensor;
  const auto is_named = [](const Tensor& tensor) {
    return std::ranges::any_of(
        tensor.axes, [](const Axis& axis) { return !axis.name.empty() || !axis.labels.empty(); });
  };
  if (is_named(actual) != is_named(desired)) return is_named(actual) ? actual : desired;
  return actual.rank() < desired.rank() ? actual : desired;
}

std::string cell_name(const ComparedStep& step, std::size_t place) {
  const Tensor& tensor = best_labelled_tensor(step);
  return reference_text(cell_at(step.name, tensor, place), tensor, TokenLayout::rows);
}

double largest_in_last_places(const ComparedStep& step) {
  const std::span<const double> actual = step.actual->tensor.values;
  const std::span<const double> desired = step.desired->tensor.values;
  double largest = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (!std::isfinite(actual[i]) || !std::isfinite(desired[i])) continue;
    const double unit = last_place(step, std::max(std::abs(actual[i]), std::abs(desired[i])));
    largest = std::max(largest, std::abs(actual[i] - desired[i]) / unit);
  }
  return largest;
}

Coverage coverage_of(const Comparison& comparison, const ComparedSide& actual) {
  Coverage coverage;
  const bool ours_is_actual = actual.is_lesson;
  for (const ComparedStep& step : comparison.steps) {
    if (!is_missing(step.agreement)) {
      ++coverage.compared;
    } else if ((step.agreement == Agreement::only_actual) == ours_is_actual) {
      // The arrays of a run may lack a model's weights, which are hundreds of givens.
      const bool is_given = (step.actual != nullptr ? step.actual : step.desired)->is_given;
      if (!is_given) coverage.missing.push_back(step.name);
    } else {
      coverage.unknown.push_back(step.name);
    }
  }
  return coverage;
}

std::string compared_text(const Comparison& comparison, const ComparedSide& actual,
                          const ComparedSide& desired, const CompareStyle& style) {
  std::string text;
  for (const ComparedSide* side : {&actual, &desired}) {
    if (!side->scheme.empty()) text += fmt::format("{}\n", side->scheme);
  }
  text +=
      fmt::format("ACTUAL:  {}\nDESIRED: {}\n\n", sanitise(actual.name), sanitise(desired.name));
  text += table_text(comparison, style.all) + "\n";
  text += wrapped_lines(tolerances_text(comparison), style.width);
  if (!text.ends_with("\n\n")) text += "\n";
  text += wrapped_lines(masks_text(comparison) + conventions_text(comparison) +
                            nan_on_both_text(comparison) + coarser_text(comparison),
                        style.width);
  text += undecided_text(comparison, style);
  // One line each, for scripts.
  const std::string maps =
      comparison.maps.empty() ? ""
                              : fmt::format("By their numbers: {}\n", map_options(comparison.maps));
  const std::string last = maps + coverage_text(comparison, actual);
  if (!comparison.first) return text + all_same_text(comparison) + last;
  text += first_text(comparison, actual.is_lesson);
  const ComparedStep& first = comparison.steps[*comparison.first];
  if (first.judged && first.judged->cells.wrong > 0 && comparison.own) {
    text += checked_causes(*comparison.own, *first.judged, {.width = style.width});
  }
  if (comparison.bisection)
    text += wrapped_lines(bisection_text(*comparison.bisection), style.width);
  if (!style.check_command.empty() && printed_of(first) == 0) {
    text += fmt::format("Cell by cell: {}\n", sanitise(style.check_command));
  }
  return text + last;
}

}  // namespace qkv::inline verdicts
