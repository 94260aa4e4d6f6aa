#include "verdicts/compared.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "formats/files/manifest.hpp"
#include "text/escape.hpp"
#include "text/width.hpp"
#include "text/wrapping.hpp"
#include "verdicts/checked.hpp"
#include "verdicts/compared_parts.hpp"
#include "verdicts/compared_tolerance.hpp"

namespace qkv {
namespace {

std::string shape_of(const ComparedStep& step) {
  if (step.sameness == Sameness::other_shape) {
    return fmt::format("{}, {}", shape_text(step.actual->tensor.shape()),
                       shape_text(step.desired->tensor.shape()));
  }
  if (has_numbers(step)) return shape_text(telling_tensor(step).shape());
  return shape_text((step.actual != nullptr ? step.actual : step.desired)->tensor.shape());
}

// A difference from NaN has no size.
std::string largest_text(const ComparedStep& step, double largest) {
  if (!has_numbers(step)) return {};
  return step.difference.nan_mismatched > 0 ? "nan" : fmt::format("{:.3g}", largest);
}

std::string nan_text(const Difference& difference) {
  if (difference.nan_mismatched == 0) return {};
  return fmt::format("nan location mismatch: {} of these, with nan on one side only\n",
                     difference.nan_mismatched);
}

// The givens that a comparison does without, those apart that are what differs first.
std::size_t spare_givens(const Comparison& comparison) {
  return comparison.first && is_spare_given(comparison.steps[*comparison.first])
             ? 0
             : static_cast<std::size_t>(std::ranges::count_if(comparison.steps, is_spare_given));
}

std::string table_text(const Comparison& comparison) {
  std::vector<std::vector<std::string>> rows = {{"step", "shape", "max abs", "max rel", ""}};
  const std::size_t spared = spare_givens(comparison);
  for (const ComparedStep& step : comparison.steps) {
    if (spared > 0 && is_spare_given(step)) continue;
    rows.push_back({visible(step.name), shape_of(step),
                    largest_text(step, step.difference.largest_absolute),
                    largest_text(step, step.difference.largest_relative),
                    std::string(words_of(step.sameness).says) +
                        (step.finite_masks > 0 ? " but for the mask" : "")});
  }
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      const bool is_number = c == 2 || c == 3;
      line += (c == 0 ? "" : "  ") +
              (is_number ? padded_left(row[c], widths[c]) : padded_right(row[c], widths[c]));
    }
    while (line.ends_with(' ')) line.pop_back();
    text += line + "\n";
  }
  if (spared == 0) return text;
  return text + fmt::format("and {} given{} that only one of the two has\n", spared,
                            spared == 1 ? "" : "s");
}

// What differs first need not be where the trouble is: not where it is rounding, or another layout
// of the right numbers.
std::string behind_first(const Comparison& comparison) {
  const ComparedStep& first = comparison.steps[*comparison.first];
  if (!first.only_the_shape && !is_rounding(first)) return {};
  const auto next = std::ranges::find_if(comparison.steps, [](const ComparedStep& step) {
    return step.sameness == Sameness::other_shape
               ? !step.only_the_shape
               : step.sameness == Sameness::differs && !is_rounding(step);
  });
  if (next == comparison.steps.end()) return {};
  return fmt::format("The first that differs {} is {}.\n",
                     first.only_the_shape ? "in more than that" : "by more than rounding",
                     visible(next->name));
}

// A finite mask hides what -inf hides: it is told, and is no difference.
std::string masks_text(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const ComparedStep& step : comparison.steps) {
    const bool judged = step.judged && step.judged->convention == "convention.finite-mask";
    if (step.finite_masks > 0 || judged) names.push_back(visible(step.name));
  }
  if (names.empty()) return {};
  constexpr std::size_t most = 4;
  const std::size_t more = names.size() - std::min(most, names.size());
  names.resize(names.size() - more);
  return fmt::format("{}{}: a finite mask stands where the other has -inf; both hide their keys.\n",
                     fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

// NaN where the other has it too is no difference, but no number either.
std::string nan_on_both_text(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const ComparedStep& step : comparison.steps) {
    const Difference& difference = step.difference;
    if (difference.nan_both == 0) continue;
    names.push_back(
        fmt::format("{} ({} of {})", visible(step.name), difference.nan_both, difference.elements));
  }
  if (names.empty()) return {};
  return fmt::format("nan in both at the same places: {}\n", fmt::join(names, ", "));
}

std::string shape_hint(const ComparedStep& step) {
  if (step.only_the_shape) return fmt::format("{}\n", only_the_shape_text);
  Shape turned = step.actual->tensor.shape();
  if (turned.size() < 2) return {};
  std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
  if (turned != step.desired->tensor.shape()) return {};
  return "One is the shape of the other's transpose.\n";
}

std::string numbers_text(const ComparedStep& step) {
  const Difference& difference = step.difference;
  const std::size_t place = *difference.first;
  const std::string_view aside = difference.nan_mismatched > 0 ? ", nan aside" : "";
  return fmt::format(
      "Not equal to tolerance {}\n\n"
      "Mismatched elements: {} / {} ({:.3g}%)\n{}"
      "Max absolute difference: {:.9g}{}\n"
      "Max relative difference: {:.9g}{}\n"
      "First mismatch: {}, index [{}] from 0\n"
      " ACTUAL: {}\n DESIRED: {}\n{}{}",
      tolerance_text(step), difference.mismatched, difference.elements,
      100.0 * static_cast<double>(difference.mismatched) / static_cast<double>(difference.elements),
      nan_text(difference), difference.largest_absolute, aside, difference.largest_relative, aside,
      visible(cell_name(step, place)), fmt::join(index_of(telling_tensor(step), place), ", "),
      step.actual->tensor.values[place], step.desired->tensor.values[place], rounding_hint(step),
      vanishing_hint(step));
}

std::string first_text(const Comparison& comparison) {
  const ComparedStep& step = comparison.steps[*comparison.first];
  const std::string name = visible(step.name);
  switch (step.sameness) {
    case Sameness::only_actual: return fmt::format("{} is missing in DESIRED.\n", name);
    case Sameness::only_desired: return fmt::format("{} is missing in ACTUAL.\n", name);
    case Sameness::other_shape:
      return fmt::format("The first that differs is {}: ACTUAL is {}, DESIRED is {}.\n{}{}", name,
                         shape_text(step.actual->tensor.shape()),
                         shape_text(step.desired->tensor.shape()), shape_hint(step),
                         behind_first(comparison));
    default:
      return fmt::format("The first that differs is {}.\n{}{}", name, numbers_text(step),
                         behind_first(comparison));
  }
}

// Other layouts and conventions than the lesson's: they are told, and are no difference.
std::string conventions_text(const Comparison& comparison) {
  std::vector<std::pair<std::string, std::vector<std::string>>> told;
  const auto tell = [&](const std::string& what, const std::string& name) {
    if (what.empty()) return;
    const auto found = std::ranges::find(told, what, [](const auto& one) { return one.first; });
    if (found == told.end()) {
      told.push_back({what, {visible(name)}});
    } else {
      found->second.push_back(visible(name));
    }
  };
  for (const ComparedStep& step : comparison.steps) {
    for (const SideMatrix* side : {step.actual, step.desired}) {
      if (side != nullptr) tell(visible(side->layout), step.name);
    }
    if (step.judged && step.judged->convention != "convention.finite-mask") {
      tell(step.judged->convention.value_or(""), step.name);
    }
  }
  std::string text;
  for (const auto& [what, names] : told)
    text += fmt::format("{}: {}\n", fmt::join(names, ", "), what);
  return text;
}

std::string all_same_text(const Comparison& comparison) {
  const auto all = std::ranges::count_if(comparison.steps, has_numbers);
  const auto identical =
      std::ranges::count(comparison.steps, Sameness::identical, &ComparedStep::sameness);
  const std::string_view are = identical == all ? "identical" : "the same within the tolerance";
  if (comparison.half_exports.empty()) return fmt::format("All {} are {}.\n", all, are);
  return fmt::format("All {} that are there agree, but {} is a half export: it has no {}.\n", all,
                     visible(comparison.half_exports.front()), manifest_name);
}

std::string names_text(std::span<const std::string> names) {
  std::vector<std::string> safe;
  for (const std::string& name : names) safe.push_back(visible(name));
  return fmt::format("{}", fmt::join(safe, ", "));
}

std::string some_of(std::span<const std::string> names) {
  constexpr std::size_t most = 6;
  return names_text(names.first(std::min(most, names.size()))) + (names.size() > most ? ", …" : "");
}

std::string coverage_text(const Comparison& comparison, const Side& actual) {
  const Coverage coverage = coverage_of(comparison, actual);
  const auto counted = [](std::size_t count, std::string_view one, std::string_view more) {
    return fmt::format("{} {}", count, count == 1 ? one : more);
  };
  std::string text = counted(coverage.compared, "step was compared", "steps were compared");
  text += coverage.missing.empty()
              ? "; each of ours had an array"
              : fmt::format("; {} of ours had no array: {}", coverage.missing.size(),
                            some_of(coverage.missing));
  text += coverage.unknown.empty()
              ? "; each array fits a step"
              : fmt::format("; {} no step: {}",
                            counted(coverage.unknown.size(), "array fits", "arrays fit"),
                            names_text(coverage.unknown));
  return text + ".\n";
}

// Lines that end in \n, each wrapped by itself.
std::string wrapped_lines(std::string_view lines, std::size_t width) {
  std::string text;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    for (const std::string& line : wrapped(std::string(lines.substr(0, end)), width)) {
      text += line + "\n";
    }
    lines.remove_prefix(end + 1);
  }
  return text;
}

}  // namespace

std::string compared_text(const Comparison& comparison, const Side& actual, const Side& desired,
                          const CompareLook& look) {
  std::string text =
      fmt::format("ACTUAL:  {}\nDESIRED: {}\n\n", visible(actual.name), visible(desired.name));
  text += table_text(comparison) + "\n";
  text += wrapped_lines(tolerances_text(comparison), look.width);
  if (!text.ends_with("\n\n")) text += "\n";
  text += wrapped_lines(masks_text(comparison), look.width);
  text += wrapped_lines(conventions_text(comparison), look.width);
  text += wrapped_lines(nan_on_both_text(comparison), look.width);
  const std::string last = coverage_text(comparison, actual);  // one line, for scripts
  if (!comparison.first) return text + all_same_text(comparison) + last;
  text += first_text(comparison);
  const ComparedStep& first = comparison.steps[*comparison.first];
  if (first.judged && comparison.own) {
    text += checked_causes(*comparison.own, *first.judged, {.width = look.width});
  }
  if (!look.check_command.empty()) {
    text += fmt::format("Cell by cell: {}\n", visible(look.check_command));
  }
  return text + last;
}

}  // namespace qkv
