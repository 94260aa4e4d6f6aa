#include "render/compared.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "render/checked.hpp"
#include "render/text.hpp"
#include "trace/reference.hpp"

namespace qkv {
namespace {

using Json = nlohmann::ordered_json;

struct SamenessWords {
  Sameness sameness;
  std::string_view in_json;
  std::string_view says;  ///< {} is the name of the side that has it
};

constexpr SamenessWords words[] = {
    {Sameness::identical, "identical", "identical"},
    {Sameness::close, "close", "within tolerance"},
    {Sameness::differs, "differs", "DIFFERS"},
    {Sameness::other_shape, "shape", "OTHER SHAPE"},
    {Sameness::only_actual, "only_actual", "only in ACTUAL"},
    {Sameness::only_desired, "only_desired", "only in DESIRED"},
};

const SamenessWords& words_of(Sameness sameness) {
  return *std::find_if(std::begin(words), std::end(words),
                       [&](const SamenessWords& one) { return one.sameness == sameness; });
}

bool has_numbers(const ComparedStep& step) { return step.difference.elements > 0; }

// ---------------------------------------------------------------- one cell

// The tensor that knows most about its axes: a lesson names them, a dump may have axes too many.
const Tensor& telling_tensor(const ComparedStep& step) {
  const Tensor& actual = step.actual->tensor;
  const Tensor& desired = step.desired->tensor;
  const auto is_named = [](const Tensor& tensor) {
    return std::any_of(tensor.axes.begin(), tensor.axes.end(),
                       [](const Axis& axis) { return !axis.name.empty() || !axis.labels.empty(); });
  };
  if (is_named(actual) != is_named(desired)) return is_named(actual) ? actual : desired;
  return actual.rank() < desired.rank() ? actual : desired;
}

// `scores[head 1,cat,fat]`
std::string cell_name(const ComparedStep& step, std::size_t place) {
  const Tensor& tensor = telling_tensor(step);
  const std::size_t matrix_size = tensor.rows() * tensor.columns();
  const std::size_t within = place % matrix_size;
  return reference_text({.name = step.name,
                         .matrix = place / matrix_size,
                         .row = within / tensor.columns(),
                         .column = within % tensor.columns()},
                        tensor, Convention::rows);
}

std::vector<std::size_t> index_of(const Tensor& tensor, std::size_t place) {
  std::vector<std::size_t> index(tensor.rank());
  for (std::size_t a = index.size(); a-- > 0;) {
    index[a] = place % tensor.axes[a].size;
    place /= tensor.axes[a].size;
  }
  return index;
}

// ---------------------------------------------------------------- text

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

// A model has its weights as givens, hundreds of them, and a dump of a run need not.
bool is_spare_given(const ComparedStep& step) {
  const SideMatrix* alone = step.actual == nullptr ? step.desired : step.actual;
  return !has_numbers(step) && step.sameness != Sameness::other_shape && alone->is_given;
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

std::string tolerance_text(const ComparedStep& step) {
  return fmt::format("rtol={:g}, atol={:g}", step.tolerance.relative, step.tolerance.absolute);
}

// What numbers of which kind were allowed to differ by, a line for each kind.
std::string tolerances_text(const Comparison& comparison) {
  std::vector<std::string> lines;
  for (const ComparedStep& step : comparison.steps) {
    if (!has_numbers(step)) continue;
    const UsualTolerance& usual = usual_tolerance(step.precision);
    const bool as_usual = usual.tolerance.relative == step.tolerance.relative &&
                          usual.tolerance.absolute == step.tolerance.absolute;
    std::string line =
        as_usual ? fmt::format("{} (as {} has it for {})", tolerance_text(step), usual.whose,
                               usual.precision == Precision::digits ? "float64" : usual.name)
                 : tolerance_text(step);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  if (lines.empty()) return {};
  return fmt::format("Tolerance: |actual - desired| <= atol + rtol * |desired|, {}\n",
                     fmt::join(lines, "; "));
}

// Where a hand or a program rounded the digits, and the difference is no more than that.
std::string rounding_hint(const ComparedStep& step) {
  for (const SideMatrix* side : {step.actual, step.desired}) {
    if (side->decimals.value_or(0) == 0) continue;  // whole numbers are exact
    const double half_unit = 0.5 * std::pow(10.0, -*side->decimals);
    if (step.difference.largest_absolute > half_unit * (1 + 1e-9)) continue;
    return fmt::format(
        "All are within half a unit of the {} decimals of {}: --atol {:g} allows for "
        "rounding.\n",
        *side->decimals, side == step.actual ? "ACTUAL" : "DESIRED", half_unit);
  }
  return {};
}

double power_above(double x) {
  const double power = std::pow(10.0, std::ceil(std::log10(x)));
  return power < x ? 10 * power : power;
}

// Where two programs have rounded a number that all but vanishes, the relative difference is large
// and means nothing.
std::string vanishing_hint(const ComparedStep& step) {
  constexpr double units = 1e-12;  // of the largest number: thousands of float64's last places
  double largest = 1;
  for (const double value : step.desired->tensor.values) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  const Difference& difference = step.difference;
  const bool is_rounding =
      difference.nan_mismatched == 0 && difference.largest_absolute <= units * largest;
  if (!is_rounding || step.tolerance.absolute > 0) return {};
  return fmt::format(
      "None differs by more than {:.2g}, which is rounding: --atol {:.0e} allows for it.\n",
      difference.largest_absolute, power_above(difference.largest_absolute));
}

bool is_rounding(const ComparedStep& step) {
  return step.sameness == Sameness::differs &&
         !(rounding_hint(step).empty() && vanishing_hint(step).empty());
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
    if (step.finite_masks > 0) names.push_back(visible(step.name));
  }
  if (names.empty()) return {};
  constexpr std::size_t most = 4;
  const std::size_t more = names.size() - std::min(most, names.size());
  names.resize(names.size() - more);
  return fmt::format("{}{}: a finite mask stands where the other has -inf; both hide their keys.\n",
                     fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

std::string shape_hint(const ComparedStep& step) {
  if (step.only_the_shape) return std::string(only_the_shape_text) + "\n";
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

std::string all_same_text(const Comparison& comparison) {
  std::size_t compared = 0;
  std::size_t identical = 0;
  std::size_t alone = 0;
  for (const ComparedStep& step : comparison.steps) {
    compared += has_numbers(step) ? 1 : 0;
    identical += step.sameness == Sameness::identical ? 1 : 0;
    alone += has_numbers(step) || is_spare_given(step) ? 0 : 1;
  }
  std::string text = identical == compared
                         ? fmt::format("All {} are identical", compared)
                         : fmt::format("All {} are the same within the tolerance", compared);
  if (alone > 0) text += fmt::format("; {} more are in only one of the two", alone);
  return text + ".\n";
}

// ---------------------------------------------------------------- JSON

// JSON knows no infinities and no NaN.
Json compared_number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json shape_json(const SideMatrix* side) {
  return side == nullptr ? Json(nullptr) : Json(side->tensor.shape());
}

Json step_json(const ComparedStep& step) {
  Json json{{"step", step.name},
            {"verdict", std::string(words_of(step.sameness).in_json)},
            {"actual_shape", shape_json(step.actual)},
            {"desired_shape", shape_json(step.desired)}};
  if (step.sameness == Sameness::other_shape) json["only_the_shape"] = step.only_the_shape;
  if (!has_numbers(step)) return json;
  const Difference& difference = step.difference;
  json["rtol"] = step.tolerance.relative;
  json["atol"] = step.tolerance.absolute;
  json["elements"] = difference.elements;
  json["mismatched"] = difference.mismatched;
  json["finite_masks"] = step.finite_masks;
  json["nan_mismatched"] = difference.nan_mismatched;
  json["max_absolute"] = compared_number(difference.largest_absolute);
  json["max_relative"] = compared_number(difference.largest_relative);
  json["first"] = nullptr;
  if (difference.first) {
    json["first"] = {{"cell", cell_name(step, *difference.first)},
                     {"index", index_of(telling_tensor(step), *difference.first)},
                     {"actual", compared_number(step.actual->tensor.values[*difference.first])},
                     {"desired", compared_number(step.desired->tensor.values[*difference.first])}};
  }
  return json;
}

}  // namespace

std::string compared_text(const Comparison& comparison, const Side& actual, const Side& desired,
                          const CompareLook& look) {
  std::string text =
      fmt::format("ACTUAL:  {}\nDESIRED: {}\n\n", visible(actual.name), visible(desired.name));
  text += table_text(comparison) + "\n";
  for (const std::string& line : wrapped(tolerances_text(comparison), look.width))
    text += line + "\n";
  if (!text.ends_with("\n\n")) text += "\n";
  for (const std::string& line : wrapped(masks_text(comparison), look.width)) text += line + "\n";
  if (comparison.same()) return text + all_same_text(comparison);
  text += first_text(comparison);
  const bool has_nan = comparison.steps[*comparison.first].difference.nan_mismatched > 0;
  if (!look.check_command.empty() && !has_nan) {  // to check, nan is a blank cell
    text +=
        fmt::format("Which known mistake makes such numbers: {}\n", visible(look.check_command));
  }
  return text;
}

std::string compared_json(const Comparison& comparison, const Side& actual, const Side& desired) {
  Json json{{"actual", actual.name}, {"desired", desired.name}, {"same", comparison.same()}};
  json["first"] = nullptr;
  if (comparison.first) json["first"] = comparison.steps[*comparison.first].name;
  json["steps"] = Json::array();
  for (const ComparedStep& step : comparison.steps) json["steps"].push_back(step_json(step));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace qkv
