#include "verdicts/checked.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

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

// Describes what the tolerance is derived from.
std::string measure_text(const StepReport& step) {
  const std::string decimals =
      pluralise(static_cast<std::size_t>(std::max(step.digits, 0)), "decimal");
  switch (step.basis) {
    case ToleranceBasis::decimals: return "you wrote " + decimals;
    case ToleranceBasis::exponents: return "you wrote powers of ten, fractions or roots";
    case ToleranceBasis::whole:
    case ToleranceBasis::rounded: return "you wrote whole numbers";
    case ToleranceBasis::other_matrices:
      return fmt::format("you wrote whole numbers here, {} elsewhere", decimals);
    case ToleranceBasis::bfloat16: return "bfloat16 numbers";
    case ToleranceBasis::float16: return "float16 numbers";
    case ToleranceBasis::float32: return "float32 numbers";
    case ToleranceBasis::float64: return "float64 numbers";
    case ToleranceBasis::copied: return "a given is copied";
    case ToleranceBasis::requested: return decimals + " asked for";
  }
  throw std::logic_error("a tolerance goes by nothing known");
}

/// Describes the tolerance of a step and its reason: "you wrote 3 decimals: a cell is right within
/// 0.001".
std::string tolerance_text(const StepReport& step) {
  const std::string how = measure_text(step);
  if (step.basis == ToleranceBasis::whole || step.basis == ToleranceBasis::copied) {
    return how + ": a cell is right if it is exact";
  }
  const std::string unit = fmt::format("{:.2g}", step.unit);
  if (step.basis == ToleranceBasis::exponents) {
    return fmt::format("{}: a cell is right within one in its last digit, {} at most", how, unit);
  }
  return fmt::format("{}: a cell is right within {}", how, unit);
}

// Limits for the arithmetic of a wrong cell.
constexpr std::size_t max_arithmetic_lines = 6;
constexpr std::size_t arithmetic_width = 100;

bool has(const StepReport& step, std::size_t index, Verdict from, Verdict to) {
  const std::size_t size = step.written.rows() * step.written.columns();
  for (std::size_t i = index * size; i < (index + 1) * size; ++i) {
    if (step.verdicts[i] >= from && step.verdicts[i] <= to) return true;
  }
  return false;
}

std::string grids(const StepReport& step, const Trace& own, const CheckStyle& style) {
  std::string text;
  for (std::size_t m = 0; m < step.written.matrices(); ++m) {
    if (!has(step, m, Verdict::rounding, Verdict::wrong)) continue;
    if (step.written.matrices() > 1) text += "    " + matrix_name(step.written, m) + "\n";
    text += marked_grid(step, own, m, style);
  }
  return text;
}

std::string paragraph(const std::string& text, const CheckStyle& style, std::size_t indent = 4) {
  std::string result;
  for (const std::string& line :
       wrapped_arithmetic(text, std::min(style.width, arithmetic_width) - indent)) {
    result += std::string(indent, ' ') + line + "\n";
  }
  return result;
}

std::string convention_text(const StepReport& step, TokenLayout lesson) {
  const std::string_view id = *step.accepted_convention;
  if (id == "convention.columns") {
    return fmt::format("Your tokens are {}: taken as they are.",
                       lesson == TokenLayout::rows ? "columns" : "rows");
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
  if (id == "convention.rounded-constant") {
    return fmt::format("You took {}; one more digit would have done.", step.rounded_constant);
  }
  return "The queries were scaled before the product: taken as it is.";
}

std::string extent_text(std::string_view thing, const IndexRange& extent) {
  if (extent.from == extent.to) return fmt::format("{} {}", thing, extent.from + 1);
  return fmt::format("{}s {}–{}", thing, extent.from + 1, extent.to + 1);
}

// What the cells of a region have in common.
std::string common_text(const Region& region, const StepReport& step, const CheckStyle& style) {
  const int digits = std::clamp(step.digits, 2, 4);
  const bool kept = style.answers == Answers::kept;
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
std::string region_text(const StepReport& step, const Trace& own, const CheckStyle& style) {
  if (!step.region) return "";
  const Region& region = *step.region;
  std::vector<std::string> parts;
  const std::size_t leading = step.written.leading_axes();
  for (std::size_t a = 0; a < leading; ++a) {
    const bool batch = step.written.axes[a].name == "batch";
    parts.push_back(extent_text(batch ? "sentence" : "head", region.axes[a]));
  }
  const bool turned = is_shown_transposed(step.written, own.token_layout);
  const IndexRange rows =
      region.axes.size() > 1 ? region.axes[region.axes.size() - 2] : IndexRange{};
  parts.push_back(extent_text("row", turned ? region.axes.back() : rows));
  parts.push_back(extent_text("column", turned ? rows : region.axes.back()));
  return paragraph(fmt::format("{} of {} wrong cells: {}{}.", region.wrong, step.cells.wrong,
                               fmt::join(parts, ", "), common_text(region, step, style)),
                   style);
}

std::string mistakes_text(const StepReport& step, const CheckStyle& style) {
  if (step.mistakes.empty()) {
    return paragraph("No known mistake makes these numbers.", style);
  }
  std::string text;
  const bool unsure = std::ranges::any_of(step.mistakes, [](const auto& one) { return !one.sure; });
  if (unsure) text += paragraph("Few cells speak; it could be any of these:", style);
  for (const Diagnosis& mistake : step.mistakes) {
    text += paragraph(fmt::format("{} {} ({}; explains {} of {})", mistake.says, mistake.hint,
                                  mistake.id, mistake.cells, step.cells.wrong),
                      style);
  }
  return text;
}

// Describes the text of an unreadable cell, and why it could not be read.
std::string unread_text(const std::string& text) {
  const NumeralError fault = parse_numeral(text).fault;
  const std::string_view why =
      fault == NumeralError::rounded     ? "a whole number that no double holds"
      : fault == NumeralError::too_large ? "which is larger than any double"
                                         : "which is not a number";
  return fmt::format("\"{}\", {}", sanitise(text), why);
}

std::string first_wrong_text(const StepReport& step, const Trace& own, const CheckStyle& style) {
  const FirstWrong& first = *step.first;
  const std::string cell =
      sanitise(reference_text(first.cell, own.at(step.step), own.token_layout));
  const std::string given =
      first.text.empty() ? learner_number(first.given, step.digits) : unread_text(first.text);
  std::string text = fmt::format("First wrong cell: {} is {}.", cell, given);
  if (style.answers == Answers::kept) return paragraph(text, style);
  const std::size_t line = std::min(style.width, arithmetic_width) - 4;
  const std::string sum = sanitise(checked_arithmetic(own, step, max_arithmetic_lines * line));
  if (!sum.empty()) {
    // The error is below the usual tolerance, but nothing was rounded.
    const bool is_near = std::abs(first.given - first.from_yours) <= 1.001 * step.unit;
    const std::string_view exact =
        first.is_exact && is_near ? " There was nothing to round, so it must be exact." : "";
    return paragraph(fmt::format("{} From your numbers: {}.{}", text, sum, exact), style);
  }
  text += fmt::format(" It should be {}.", brief(first.from_yours, std::max(step.digits, 4)));
  const bool too_long = !checked_arithmetic(own, step, std::string::npos).empty();
  if (too_long && !style.lesson.empty()) {
    text += fmt::format(" How such a cell is worked out: qkv explain {} {}", style.lesson,
                        shell_word(cell));
  }
  return paragraph(text, style);
}

std::string shape_error_text(const StepReport& step, TokenLayout token_layout,
                             const CheckStyle& style) {
  Shape right = step.right_shape;
  Shape found = step.wrong_shape;
  if (token_layout == TokenLayout::columns) {
    if (right.size() > 1) std::swap(right[right.size() - 1], right[right.size() - 2]);
    if (found.size() > 1) std::swap(found[found.size() - 1], found[found.size() - 2]);
  }
  std::string text =
      fmt::format("; you have {}, it should be {}\n", shape_text(found), shape_text(right));
  if (step.only_shape_differs) text += paragraph(std::string(only_the_shape_text), style);
  return text + (step.mistakes.empty() ? "" : mistakes_text(step, style));
}

std::string step_text(const StepReport& step, const CheckReport& report, const CheckStyle& style) {
  std::string text = fmt::format(
      "  {} {}: {}", verdict_sign(step.verdict == Verdict::shape ? Verdict::wrong : step.verdict),
      sanitise(step.step), verdict_name(step.verdict));
  if (step.verdict == Verdict::shape) {
    return text + shape_error_text(step, report.own.token_layout, style);
  }
  if (step.verdict == Verdict::blank) return text + "\n";
  const std::string by = fmt::format("({})", tolerance_text(step));
  text += width(text) + 1 + width(by) > style.width ? "\n" + paragraph(by, style) : " " + by + "\n";
  if (step.cells.blank > 0) {
    text += paragraph(fmt::format("Still blank: {} of {}.", step.cells.blank,
                                  pluralise(step.verdicts.size(), "cell")),
                      style);
  }
  if (step.verdict == Verdict::correct) return text;
  if (step.first) {  // the mistake comes first: the grids may be long
    text += first_wrong_text(step, report.own, style) + region_text(step, report.own, style) +
            mistakes_text(step, style);
  }
  if (step.verdict == Verdict::wrong || style.grids == Grids::all) {
    text += grids(step, report.own, style);
  }
  if (step.cells.carried > 0) {
    text += paragraph(
        fmt::format("{} only follow{} from an earlier slip: mend that one, and work "
                    "{} again.",
                    pluralise(step.cells.carried, "cell"), step.cells.carried == 1 ? "s" : "",
                    step.cells.carried == 1 ? "it" : "them"),
        style);
  }
  return text;
}

std::string pass_text(std::string_view pass, std::string_view things, const PassReport& report) {
  if (report.handed_in == 0) return fmt::format("The way {}: no {} handed in.", pass, things);
  if (report.first_wrong) {
    return fmt::format("The way {}: wrong, first in {}.", pass, *report.first_wrong);
  }
  const bool is_all = report.outcome == Outcome::correct;
  return fmt::format("The way {}: {}.", pass, is_all ? "right" : "right as far as it is there");
}

std::string passes_text(const PassReports& passes) {
  return pass_text("there", "step was", passes.forward) + " " +
         pass_text("back", "gradient was", passes.backward);
}

}  // namespace

std::string checked_arithmetic(const Trace& own, const StepReport& step, std::size_t longest) {
  if (!step.first || !own.find_step(step.step)) return {};
  const int digits = step.basis == ToleranceBasis::whole ? 4 : std::clamp(step.digits, 2, 12);
  for (const std::size_t max_terms : {std::size_t{8}, std::size_t{4}}) {
    const CellArithmetic worked =
        arithmetic_of(own, step.first->cell, {.digits = digits, .max_terms = max_terms});
    if (worked.lines.size() < 2) return {};
    // The last line is the lesson's own cell if a sum was rounded; write the result itself.
    const std::string result = brief(step.first->from_yours, digits);
    // If a number is only moved, its origin is the useful part.
    const std::string& how = worked.lines.size() == 2 ? worked.lines[0] : worked.lines[1];
    std::string sum = fmt::format("{} = {}", how, result);
    if (width(sum) <= longest) return sum;
  }
  return {};
}

std::string checked_text(const CheckReport& report, const CheckStyle& style) {
  std::string text =
      fmt::format("{}: {}", sanitise(report.submission), outcome_name(report.outcome));
  if (report.first_wrong) text += fmt::format("; the first slip is in {}", *report.first_wrong);
  text += "\n";
  if (report.passes) text += paragraph(passes_text(*report.passes), style, 2);
  std::optional<std::string> named;  // each convention is explained once
  for (const StepReport& step : report.steps) {
    text += step_text(step, report, style);
    if (step.accepted_convention && step.accepted_convention != named) {
      text += paragraph(convention_text(step, report.own.token_layout), style);
      named = step.accepted_convention;
    }
  }
  if (!report.missing.empty()) {
    text += paragraph(fmt::format("Not handed in: {}", fmt::join(report.missing, ", ")), style, 2);
  }
  if (report.outcome != Outcome::correct) text += verdict_legend(style);
  return text;
}

std::string checked_causes(const Trace& own, const StepReport& step, const CheckStyle& style) {
  return region_text(step, own, style) + mistakes_text(step, style);
}

}  // namespace qkv::inline verdicts
