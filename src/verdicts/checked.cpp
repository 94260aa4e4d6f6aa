#include "verdicts/checked.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "check/check.hpp"
#include "exposition/arithmetic.hpp"
#include "formats/handwork/numeral.hpp"
#include "terminal/lines.hpp"
#include "text/escape.hpp"
#include "text/number.hpp"
#include "text/strings.hpp"
#include "text/wrapping.hpp"
#include "trace/labels.hpp"

namespace qkv::inline verdicts {
namespace {

// What the tolerance goes by, in words.
std::string measure_text(const StepReport& step) {
  const std::string decimals =
      plural(static_cast<std::size_t>(std::max(step.digits, 0)), "decimal");
  switch (step.measure) {
    case Measure::decimals: return "you wrote " + decimals;
    case Measure::exponents: return "you wrote powers of ten, fractions or roots";
    case Measure::whole:
    case Measure::rounded: return "you wrote whole numbers";
    case Measure::elsewhere:
      return fmt::format("you wrote whole numbers here, {} elsewhere", decimals);
    case Measure::bfloat16: return "bfloat16 numbers";
    case Measure::float16: return "float16 numbers";
    case Measure::float32: return "float32 numbers";
    case Measure::float64: return "float64 numbers";
    case Measure::copied: return "a given is copied";
    case Measure::asked: return decimals + " asked for";
  }
  throw std::logic_error("a tolerance goes by nothing known");
}

/// What a cell of the step may be off by, and why: "you wrote 3 decimals: a cell is right within
/// 0.001".
std::string tolerance_text(const StepReport& step) {
  const std::string how = measure_text(step);
  if (step.measure == Measure::whole || step.measure == Measure::copied) {
    return how + ": a cell is right if it is exact";
  }
  const std::string unit = fmt::format("{:.2g}", step.unit);
  if (step.measure == Measure::exponents) {
    return fmt::format("{}: a cell is right within one in its last digit, {} at most", how, unit);
  }
  return fmt::format("{}: a cell is right within {}", how, unit);
}

// The arithmetic of a wrong cell takes so many lines at most, of so many columns.
constexpr std::size_t longest_arithmetic = 6;
constexpr std::size_t arithmetic_width = 100;

bool has(const StepReport& step, std::size_t index, Verdict from, Verdict to) {
  const std::size_t size = step.written.rows() * step.written.columns();
  for (std::size_t i = index * size; i < (index + 1) * size; ++i) {
    if (step.verdicts[i] >= from && step.verdicts[i] <= to) return true;
  }
  return false;
}

std::string grids(const StepReport& step, const Trace& own, const CheckLook& look) {
  std::string text;
  for (std::size_t m = 0; m < step.written.matrices(); ++m) {
    if (!has(step, m, Verdict::rounding, Verdict::wrong)) continue;
    if (step.written.matrices() > 1) text += "    " + matrix_name(step.written, m) + "\n";
    text += marked_grid(step, own, m, look);
  }
  return text;
}

std::string paragraph(const std::string& text, const CheckLook& look, std::size_t indent = 4) {
  std::string result;
  for (const std::string& line :
       wrapped_arithmetic(text, std::min(look.width, arithmetic_width) - indent)) {
    result += std::string(indent, ' ') + line + "\n";
  }
  return result;
}

std::string convention_text(std::string_view id, Convention lesson) {
  if (id == "convention.columns") {
    return fmt::format("Your tokens are {}: taken as they are.",
                       lesson == Convention::rows ? "columns" : "rows");
  }
  if (id == "convention.finite-mask") return "A very low number stands for -inf: taken as it is.";
  if (id == "convention.heads-inside") {
    return "The heads stand inside or side by side: taken as they are.";
  }
  if (id == "convention.alibi-shift") {
    return "ALiBi's distances are counted from an end of the keys: taken as they are, since a row "
           "that is off by one number has the same weights.";
  }
  if (id == "convention.rope-layout") {
    return "The columns stand in the order of the other pairing, in queries and keys alike: taken "
           "as they are.";
  }
  if (id == "convention.lse-base") return "Its logarithms are those to base 2: taken as they are.";
  if (id == "convention.reduction") {
    return "The loss is added up where the mean is due, or the reverse: taken as it is, with the "
           "gradients that follow it.";
  }
  return "The queries were scaled before the product: taken as it is.";
}

std::string extent_text(std::string_view thing, const Extent& extent) {
  if (extent.from == extent.to) return fmt::format("{} {}", thing, extent.from + 1);
  return fmt::format("{}s {}–{}", thing, extent.from + 1, extent.to + 1);
}

// What the cells of a region have in common.
std::string common_text(const Region& region, const StepReport& step, const CheckLook& look) {
  const int digits = std::clamp(step.digits, 2, 4);
  const bool kept = look.answers == Answers::kept;
  switch (region.what) {
    case Region::What::zero: return ", all 0";
    case Region::What::nan: return ", all nan";
    case Region::What::constant: return ", all the same";
    case Region::What::multiple:
      return kept ? ", all off by one factor"
                  : fmt::format(", all {} times what they should be", brief(region.factor, digits));
    case Region::What::offset:
      return kept || region.offset.size() > 1
                 ? ", every row off by the same"
                 : fmt::format(", all off by {}", brief(region.offset.front(), digits));
    default: return "";
  }
}

// "32 of 32 wrong cells: heads 3–4, rows 5–8, columns 5–8, all 0".
std::string region_text(const StepReport& step, const Trace& own, const CheckLook& look) {
  if (!step.region) return "";
  const Region& region = *step.region;
  std::vector<std::string> parts;
  const std::size_t leading = step.written.leading_axes();
  for (std::size_t a = 0; a < leading; ++a) {
    const bool batch = step.written.axes[a].name == "batch";
    parts.push_back(extent_text(batch ? "sentence" : "head", region.axes[a]));
  }
  const bool turned = is_turned(step.written, own.convention);
  const Extent rows = region.axes.size() > 1 ? region.axes[region.axes.size() - 2] : Extent{};
  parts.push_back(extent_text("row", turned ? region.axes.back() : rows));
  parts.push_back(extent_text("column", turned ? rows : region.axes.back()));
  return paragraph(fmt::format("{} of {} wrong cells: {}{}.", region.wrong, step.cells.wrong,
                               fmt::join(parts, ", "), common_text(region, step, look)),
                   look);
}

std::string mistakes_text(const StepReport& step, const CheckLook& look) {
  if (step.mistakes.empty()) {
    return paragraph("No known mistake makes these numbers.", look);
  }
  std::string text;
  const bool unsure = std::ranges::any_of(step.mistakes, [](const auto& one) { return !one.sure; });
  if (unsure) text += paragraph("Few cells speak; it could be any of these:", look);
  for (const Diagnosis& mistake : step.mistakes) {
    text += paragraph(fmt::format("{} {} ({}; explains {} of {})", mistake.says, mistake.hint,
                                  mistake.id, mistake.cells, step.cells.wrong),
                      look);
  }
  return text;
}

// What stands in a cell and could not be read, and why.
std::string unread_text(const std::string& text) {
  const NumeralFault fault = parse_numeral(text).fault;
  const std::string_view why =
      fault == NumeralFault::rounded     ? "a whole number that no double holds"
      : fault == NumeralFault::too_large ? "which is larger than any double"
                                         : "which is not a number";
  return fmt::format("\"{}\", {}", visible(text), why);
}

std::string first_wrong_text(const StepReport& step, const Trace& own, const CheckLook& look) {
  const FirstWrong& first = *step.first;
  const std::string cell = visible(reference_text(first.cell, own.at(step.step), own.convention));
  const std::string given =
      first.text.empty() ? written_number(first.given, step.digits) : unread_text(first.text);
  std::string text = fmt::format("First wrong cell: {} is {}.", cell, given);
  if (look.answers == Answers::kept) return paragraph(text, look);
  const std::size_t line = std::min(look.width, arithmetic_width) - 4;
  const std::string sum = visible(checked_arithmetic(own, step, longest_arithmetic * line));
  if (!sum.empty()) {
    // Off by less than what is said to be right, were there anything to round.
    const bool is_near = std::abs(first.given - first.from_yours) <= 1.001 * step.unit;
    const std::string_view exact =
        first.is_exact && is_near ? " There was nothing to round, so it must be exact." : "";
    return paragraph(fmt::format("{} From your numbers: {}.{}", text, sum, exact), look);
  }
  text += fmt::format(" It should be {}.", brief(first.from_yours, std::max(step.digits, 4)));
  const bool too_long = !checked_arithmetic(own, step, std::string::npos).empty();
  if (too_long && !look.lesson.empty()) {
    text += fmt::format(" How such a cell is worked out: qkv explain {} {}", look.lesson,
                        shell_word(cell));
  }
  return paragraph(text, look);
}

std::string shape_fault(const StepReport& step, Convention convention, const CheckLook& look) {
  Shape right = step.right_shape;
  Shape found = step.wrong_shape;
  if (convention == Convention::columns) {
    if (right.size() > 1) std::swap(right[right.size() - 1], right[right.size() - 2]);
    if (found.size() > 1) std::swap(found[found.size() - 1], found[found.size() - 2]);
  }
  std::string text =
      fmt::format("; you have {}, it should be {}\n", shape_text(found), shape_text(right));
  if (step.only_the_shape) text += paragraph(std::string(only_the_shape_text), look);
  return text + (step.mistakes.empty() ? "" : mistakes_text(step, look));
}

std::string step_text(const StepReport& step, const CheckReport& report, const CheckLook& look) {
  std::string text = fmt::format(
      "  {} {}: {}", sign_of(step.verdict == Verdict::shape ? Verdict::wrong : step.verdict),
      visible(step.step), verdict_name(step.verdict));
  if (step.verdict == Verdict::shape) {
    return text + shape_fault(step, report.own.convention, look);
  }
  if (step.verdict == Verdict::blank) return text + "\n";
  const std::string by = fmt::format("({})", tolerance_text(step));
  text += width(text) + 1 + width(by) > look.width ? "\n" + paragraph(by, look) : " " + by + "\n";
  if (step.cells.blank > 0) {
    text += paragraph(fmt::format("Still blank: {} of {}.", step.cells.blank,
                                  plural(step.verdicts.size(), "cell")),
                      look);
  }
  if (step.verdict == Verdict::correct) return text;
  if (step.leaves_room) {
    text += paragraph(
        "Off by half of their size and more: rounding in steps that were not handed in may make "
        "that, and so may a slip. More decimals, or those steps, would tell.",
        look);
  }
  if (step.first) {  // what is wrong comes before where: the grids may be long
    text += first_wrong_text(step, report.own, look) + region_text(step, report.own, look) +
            mistakes_text(step, look);
  }
  if (step.verdict == Verdict::wrong || look.grids == Grids::all) {
    text += grids(step, report.own, look);
  }
  if (step.cells.carried > 0) {
    text += paragraph(
        fmt::format("{} only follow{} from an earlier slip: mend that one, and work "
                    "{} again.",
                    plural(step.cells.carried, "cell"), step.cells.carried == 1 ? "s" : "",
                    step.cells.carried == 1 ? "it" : "them"),
        look);
  }
  return text;
}

std::string way_text(std::string_view way, std::string_view things, const WayReport& report) {
  if (report.handed_in == 0) return fmt::format("The way {}: no {} handed in.", way, things);
  if (report.first_wrong) {
    return fmt::format("The way {}: wrong, first in {}.", way, *report.first_wrong);
  }
  const bool is_all = report.outcome == Outcome::correct;
  return fmt::format("The way {}: {}.", way, is_all ? "right" : "right as far as it is there");
}

std::string ways_text(const WaysReport& ways) {
  return way_text("there", "step was", ways.forward) + " " +
         way_text("back", "gradient was", ways.backward);
}

}  // namespace

std::string checked_arithmetic(const Trace& own, const StepReport& step, std::size_t longest) {
  if (!step.first || !own.find_step(step.step)) return {};
  const int digits = step.measure == Measure::whole ? 4 : std::clamp(step.digits, 2, 12);
  for (const std::size_t most_terms : {std::size_t{8}, std::size_t{4}}) {
    const CellArithmetic worked =
        arithmetic_of(own, step.first->cell, {.digits = digits, .most_terms = most_terms});
    if (worked.lines.size() < 2) return {};
    // The last line is the lesson's own cell where a sum was rounded: say what the numbers give.
    const std::string result = brief(step.first->from_yours, digits);
    // Where a number only moves, what says something is from where.
    const std::string& how = worked.lines.size() == 2 ? worked.lines[0] : worked.lines[1];
    std::string sum = fmt::format("{} = {}", how, result);
    if (width(sum) <= longest) return sum;
  }
  return {};
}

std::string checked_text(const CheckReport& report, const CheckLook& look) {
  std::string text =
      fmt::format("{}: {}", visible(report.submission), outcome_name(report.outcome));
  if (report.first_wrong) text += fmt::format("; the first slip is in {}", *report.first_wrong);
  text += "\n";
  if (report.ways) text += paragraph(ways_text(*report.ways), look, 2);
  std::optional<std::string> convention;  // each is said once, where it is first met
  for (const StepReport& step : report.steps) {
    text += step_text(step, report, look);
    if (step.convention && step.convention != convention) {
      text += paragraph(convention_text(*step.convention, report.own.convention), look);
      convention = step.convention;
    }
  }
  if (!report.missing.empty()) {
    text += paragraph(fmt::format("Not handed in: {}", fmt::join(report.missing, ", ")), look, 2);
  }
  if (report.outcome != Outcome::correct) text += legend(look);
  return text;
}

std::string checked_causes(const Trace& own, const StepReport& step, const CheckLook& look) {
  return region_text(step, own, look) + mistakes_text(step, look);
}

}  // namespace qkv::inline verdicts
