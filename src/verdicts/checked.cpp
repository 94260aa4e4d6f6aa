#include "verdicts/verdicts.hpp"

#include "check/judge/conventions.hpp"
#include "exposition/arithmetic.hpp"
#include "terminal/grid.hpp"
#include "text/unicode.hpp"

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
    case ToleranceBasis::type: return fmt::format("{} numbers", rule_of(step.precision).name);
    case ToleranceBasis::copied: return "a given is copied";
    case ToleranceBasis::requested: return decimals + " asked for";
  }
  throw std::logic_error("the tolerance is not known");
}

using Steps = std::vector<const StepReport*>;

// The largest of some steps' numbers: "0.9", or "0.9 at most" if they differ.
std::string amount_text(const Steps& steps, const std::function<double(const StepReport&)>& of) {
  const auto amounts = mapped(steps, [&](const StepReport* step) { return of(*step); });
  const auto [least, most] = std::ranges::minmax(amounts);
  const auto text = [](double x) {
    if (std::isinf(x)) return std::string("any amount");
    return x >= 10 && x < 1e6 ? fmt::format("{:.0f}", x) : fmt::format("{:.2g}", x);
  };
  return text(most) + (text(least) == text(most) ? "" : " at most");
}

// Describes the tolerance of steps with the same basis, and its reason: "you wrote 3 decimals: a
// cell is right within 0.001".
std::string tolerance_text(const Steps& steps) {
  const StepReport& step = *steps.front();
  const std::string unit = amount_text(steps, &StepReport::unit);
  const std::string used = amount_text(steps, &StepReport::tolerance);
  std::string text = measure_text(step) + ": a cell is right ";
  if (step.basis == ToleranceBasis::whole || step.basis == ToleranceBasis::copied) {
    text += "if it matches exactly";
  } else if (step.basis == ToleranceBasis::exponents) {
    text += fmt::format("within one in its last digit, {}{}", unit,
                        unit.ends_with("most") ? "" : " at most");
  } else {
    text += "within " + unit;
  }
  constexpr double floor = 1e-5;  // nothing was rounded before
  const auto is_exact = [](const StepReport* one) {
    return one->basis == ToleranceBasis::whole && one->tolerance < floor;
  };
  if (used == unit || std::ranges::all_of(steps, is_exact)) return text;
  return text + "; with the rounding of earlier steps, within " + used;
}

// Limits for the arithmetic of a wrong cell.
constexpr std::size_t max_arithmetic_lines = 6;
constexpr std::size_t arithmetic_width = 100;

// True if a matrix of the step has a cell with a verdict from `from` to wrong.
bool has(const StepReport& step, std::size_t index, Verdict from) {
  const std::size_t size = step.written.rows() * step.written.columns();
  return std::ranges::any_of(
      std::span(step.verdicts).subspan(index * size, size),
      [&](Verdict verdict) { return from <= verdict && verdict <= Verdict::wrong; });
}

std::string paragraph(const std::string& text, const CheckStyle& style, std::size_t indent = 4) {
  return indented_lines(wrapped_arithmetic(text, std::min(style.width, arithmetic_width) - indent),
                        indent);
}

// 6 digits, or as many as tell it from 1.
std::string factor_text(double factor) {
  int digits = 6;
  while (digits < 17 && fmt::format("{:.{}g}", factor, digits) == "1") ++digits;
  return fmt::format("{:.{}g}", factor, digits);
}

// What the cells of a region have in common.
std::string common_text(const Region& region, const StepReport& step, const CheckStyle& style) {
  const int digits = std::clamp(step.digits, 1, 4);
  const bool kept = style.answers == Answers::kept;
  switch (region.what) {
    case Region::What::zero: return ", all 0";
    case Region::What::nan: return ", all nan";
    case Region::What::constant: return ", all the same";
    case Region::What::multiple:
      return kept ? ", all off by one factor"
                  : fmt::format(", all {} times what they should be", factor_text(region.factor));
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
  const auto parts = mapped(shown_extents(step, own.token_layout), [](const auto& one) {
    const auto& [axis, extent] = one;
    const std::string_view thing = axis == "batch" ? "sentence" : axis;
    if (extent.from == extent.to) return fmt::format("{} {}", thing, extent.from + 1);
    return fmt::format("{}s {}–{}", thing, extent.from + 1, extent.to + 1);
  });
  std::size_t cells = 1;
  for (const IndexRange& axis : region.axes) cells *= axis.size();
  const std::string start =
      region.wrong < cells ? fmt::format("All {} wrong cells lie in ", region.wrong)
                           : fmt::format("{} of {} wrong cells: ", region.wrong, step.cells.wrong);
  return paragraph(fmt::format("{}{}{}.", start, fmt::join(parts, ", "),
                               as_shown(common_text(region, step, style), own.token_layout)),
                   style);
}

// Lists mistakes of which one was made: "The scores were not scaled (scale.skipped); or: …".
std::string alternatives_text(const StepReport& step, std::size_t most) {
  const auto texts = mapped(step.likely_mistakes().first(most), [](const Diagnosis& mistake) {
    std::string_view says = mistake.says;
    if (says.ends_with('.')) says.remove_suffix(1);
    return fmt::format("{} ({})", says, mistake.id);
  });
  return fmt::to_string(fmt::join(texts, "; or: "));
}

// "all 10 wrong cells", "the wrong cell", "9 of 10 wrong cells".
std::string explained_text(std::size_t cells, std::size_t wrong) {
  if (cells < wrong) return fmt::format("{} of {} wrong cells", cells, wrong);
  return wrong == 1   ? "the wrong cell"
         : wrong == 2 ? "both wrong cells"
                      : fmt::format("all {} wrong cells", wrong);
}

std::string mistakes_text(const StepReport& step, const CheckStyle& style) {
  if (step.mistakes.empty() && !step.verdicts.empty() && step.bad_texts.size() >= step.cells.wrong)
    return "";  // no numbers
  if (step.mistakes.empty()) {
    const bool is_one_by_hand = step.cells.wrong == 1 && step.precision == Precision::digits;
    if (step.untried > 0) {
      return paragraph(fmt::format("None of the mistakes that were tried makes these numbers. "
                                   "Not all of {} were tried: that would take too long.",
                                   pluralise(step.untried, "step")),
                       style);
    }
    return paragraph(is_one_by_hand ? "This number fits no known mistake. It is probably a slip in "
                                      "the arithmetic of this one cell."
                                    : "These numbers fit no known mistake.",
                     style);
  }
  const std::span<const Diagnosis> likely = step.likely_mistakes();
  const bool unsure = std::ranges::any_of(likely, [](const auto& one) { return !one.sure; });
  const std::string_view lead = !unsure ? ""
                                : likely.front().cells < step.cells.wrong
                                    ? "Not all wrong cells fit. It could be: "
                                    : "This is not certain; it could be: ";
  if (are_alternatives(likely, step.cells.wrong)) {
    return paragraph(
        fmt::format("{}{}. Each explains {}.", lead, alternatives_text(step, likely.size()),
                    explained_text(likely.front().cells, step.cells.wrong)),
        style);
  }
  std::string result;
  for (const Diagnosis& mistake : likely) {
    result += paragraph(
        fmt::format("{}{} {} ({}; explains {})", result.empty() ? lead : "", mistake.says,
                    mistake.hint, mistake.id, explained_text(mistake.cells, step.cells.wrong)),
        style);
  }
  return result;
}

// Describes the text of an unreadable cell, and why it could not be read.
std::string unreadable_text(const std::string& text) {
  const NumeralError fault = parse_numeral(text).fault;
  const std::string_view why =
      fault == NumeralError::rounded     ? "a whole number that no double holds"
      : fault == NumeralError::too_large ? "which is larger than any double"
                                         : "which is not a number";
  const std::string_view how =
      text.find("sqrt") == text.npos ? "" : ": write a root like √2, 2*√2 or sqrt(2)";
  return fmt::format("\"{}\", {}{}", sanitise(text), why, how);
}

// True if the error is below the usual tolerance, but nothing was rounded.
bool is_nearly_exact(const StepReport& step) {
  return step.first && step.first->is_exact &&
         std::abs(step.first->given - step.first->from_yours) <= 1.001 * step.unit;
}

std::string first_wrong_text(const StepReport& step, const Trace& own, const CheckStyle& style) {
  const FirstWrong& first = *step.first;
  const std::string cell =
      sanitise(reference_text(first.cell, own.at(step.step), own.token_layout));
  const std::string given =
      first.text.empty() ? learner_number(first.given, step.digits) : unreadable_text(first.text);
  std::string text = fmt::format("First wrong cell: {} is {}.", cell, given);
  if (style.answers == Answers::kept) return paragraph(text, style);
  const std::size_t line = std::min(style.width, arithmetic_width) - 4;
  const std::string sum = sanitise(checked_arithmetic(own, step, max_arithmetic_lines * line));
  if (!sum.empty()) {
    const std::string_view exact =
        is_nearly_exact(step) ? " There was nothing to round, so it must be exact." : "";
    return paragraph(fmt::format("{} From your numbers: {}.{}", text, sum, exact), style);
  }
  const std::string right = brief(first.from_yours, std::max(step.digits, 4));
  text += given == right ? fmt::format(" Off by {:.2g}.", std::abs(first.given - first.from_yours))
          : first.text.empty() ? fmt::format(" It should be {}.", right)
                               : fmt::format(" Write {}.", right);
  const bool too_long = !checked_arithmetic(own, step, std::string::npos).empty();
  if (too_long && !style.lesson.empty()) {
    text += fmt::format(" How such a cell is worked out: qkv explain {} {}", style.lesson,
                        shell_word(cell));
  }
  return paragraph(text, style);
}

std::string shape_error_text(const StepReport& step, TokenLayout token_layout,
                             const CheckStyle& style) {
  const auto shown = [&](const Shape& shape) {
    return shape_text(token_layout == TokenLayout::columns ? transposed(shape) : shape);
  };
  std::string text = fmt::format("; you have {}, it should be {}\n", shown(step.wrong_shape),
                                 shown(step.right_shape));
  if (step.only_shape_differs) text += paragraph(std::string(only_the_shape_text), style);
  return text + (step.mistakes.empty() ? "" : mistakes_text(step, style));
}

// Returns the report of a step without its numbers.
std::string step_text(const StepReport& step, const CheckReport& report, const CheckStyle& style) {
  std::string text = fmt::format("  {} {}: {}", verdict_sign(step.verdict), sanitise(step.step),
                                 verdict_name(step.verdict));
  if (step.verdict == Verdict::shape) {
    return text + shape_error_text(step, report.own.token_layout, style);
  }
  text += "\n";
  if (style.detail == Detail::all && step.verdict != Verdict::blank) {
    text += paragraph(fmt::format("({})", tolerance_text({&step})), style);
  }
  if (step.first) {  // the mistake comes first: the grids may be long
    text += first_wrong_text(step, report.own, style) + region_text(step, report.own, style) +
            mistakes_text(step, style);
  }
  return text;
}

std::string pass_text(std::string_view name, const PassReport& report) {
  std::string says = report.outcome == Outcome::correct     ? "right"
                     : report.outcome == Outcome::undecided ? "undecided"
                                                            : "right as far as submitted";
  if (report.first_wrong) says = "wrong, first in " + sanitise(*report.first_wrong);
  if (report.submitted_count == 0) says = "nothing was submitted";
  return fmt::format("{}: {}.", name, says);
}

// Lists names on one line; names beyond it are counted.
std::string names_line(std::string text, const std::vector<std::string>& names,
                       std::size_t columns) {
  const std::string all = text + sanitise(fmt::format("{}", fmt::join(names, ", ")));
  if (width(all) <= columns) return all;
  constexpr std::size_t count_width = 14;  // " and 1000 more"
  std::size_t shown = 0;
  while (shown == 0 || width(text) + 2 + width(sanitise(names[shown])) + count_width <= columns) {
    text += (shown > 0 ? ", " : "") + sanitise(names[shown]);
    if (++shown == names.size()) return text;
  }
  return fmt::format("{} and {} more", text, names.size() - shown);
}

std::vector<std::string> names_of(const Steps& steps) { return mapped(steps, &StepReport::step); }

// Puts steps with an equal key together, in the order of the first of each.
template <class Key>
std::vector<Steps> grouped(const Steps& steps, const Key& key) {
  std::vector<Steps> groups;
  for (const StepReport* step : steps) {
    auto group = std::ranges::find_if(
        groups, [&](const Steps& one) { return key(*one.front()) == key(*step); });
    if (group == groups.end()) group = groups.emplace(group);
    group->push_back(step);
  }
  return groups;
}

template <class Predicate>
Steps steps_that(const CheckReport& report, const Predicate& predicate) {
  return filtered(report.steps, predicate, [](const StepReport& step) { return &step; });
}

// True if cells of a matrix were left out beside others, as a worksheet for a part of the lesson
// does. A head without a file is no such part.
bool is_a_part(const CheckReport& report) {
  return std::ranges::any_of(report.steps, [](const StepReport& step) {
    if (step.verdicts.empty()) return false;  // another shape
    const std::size_t size = step.written.rows() * step.written.columns();
    std::size_t blank = 0;  // in matrices that have numbers, too
    for (std::size_t start = 0; start < step.verdicts.size(); start += size) {
      const auto matrix = std::span(step.verdicts).subspan(start, size);
      const auto count = static_cast<std::size_t>(std::ranges::count(matrix, Verdict::blank));
      blank += count < size ? count : 0;
    }
    return blank > step.cells.blank - step.left_out;
  });
}

// States each tolerance once, with the steps that it holds for if there are several.
std::string tolerances_text(const CheckReport& report, const CheckStyle& style) {
  std::string text;
  const Steps steps_with_numbers =
      steps_that(report, [is_part = is_a_part(report)](const StepReport& step) {
        // Of an unfinished step in a part, the numbers may be the worksheet's own.
        return step.cells.blank < step.verdicts.size() && !(is_part && step.is_unfinished());
      });
  Steps tolerant =
      filtered(steps_with_numbers, [](const StepReport* step) { return !is_nearly_exact(*step); });
  // Where all is right, whole numbers need no words beside others.
  const Steps inexact = filtered(tolerant, [](const StepReport* step) {
    return step->basis != ToleranceBasis::whole || step->verdict != Verdict::correct;
  });
  if (!inexact.empty()) tolerant = inexact;
  const auto groups = grouped(tolerant, measure_text);
  const bool is_for_all = groups.size() == 1 && tolerant.size() == steps_with_numbers.size();
  for (const Steps& steps : groups) {
    const std::string says = tolerance_text(steps);
    const std::size_t room = std::max(width(says) + 30, style.width - 3);
    text += paragraph(is_for_all ? says : names_line(says + " (", names_of(steps), room) + ")",
                      style, 2);
  }
  return text;
}

// Lists names under a title: all of them, or as many as fit one line.
std::string list(const std::string& title, const std::vector<std::string>& names,
                 const CheckStyle& style) {
  if (names.empty()) return {};
  const std::size_t columns =
      style.detail == Detail::all ? std::string::npos : std::min(style.width, arithmetic_width) - 2;
  return paragraph(names_line(title + ": ", names, columns), style, 2);
}

std::string verdict_line(const CheckReport& report, Verdict verdict, std::string_view says,
                         const CheckStyle& style) {
  std::vector<std::string> names;
  for (const StepReport& step : report.steps) {
    const bool goes_on = verdict != Verdict::carried && step.is_unfinished();
    // Of a step in a part, the numbers so far may be the worksheet's own.
    if (step.verdict != verdict || (goes_on && is_a_part(report))) continue;
    names.push_back(step.step + (goes_on ? " so far" : ""));
  }
  return list(fmt::format("{} {}", verdict_sign(verdict), says), names, style);
}

std::string conventions_text(const CheckReport& report, const CheckStyle& style) {
  std::string text;
  const std::string_view tokens =
      report.own.token_layout == TokenLayout::columns ? "rows" : "columns";
  const auto says = [&](const StepReport& step) {
    const std::string_view id = step.accepted_convention;
    const Convention& convention = *find_by(all_conventions(), id, &Convention::id);
    return fmt::format(fmt::runtime(convention.says),
                       id == "convention.columns" ? tokens : step.rounded_constant);
  };
  const auto is_accepted = [](const StepReport& step) { return !step.accepted_convention.empty(); };
  for (const Steps& steps : grouped(steps_that(report, is_accepted), says)) {
    const std::string start = says(*steps.front()) + " (";
    text += paragraph(names_line(start, names_of(steps), width(start) + 50) + ")", style, 2);
  }
  return text;
}

// Returns what is neither right nor wrong: undecided, carried and blank steps, conventions, and
// what is missing.
std::string others_text(const CheckReport& report, const CheckStyle& style) {
  const Steps all = steps_that(report, [](const StepReport&) { return true; });
  std::string text = undecided_text(all, "Submit", style);
  const std::string carried = verdict_line(report, Verdict::carried, "carried", style);
  if (!carried.empty()) {
    text +=
        carried +
        paragraph("These follow from an earlier mistake: correct it, then calculate them again.",
                  style);
  }
  std::vector<std::string> blank;
  std::size_t cells = 0;
  for (const StepReport& step : report.steps) {
    if (step.cells.blank == step.left_out) continue;
    cells += step.cells.blank - step.left_out;
    blank.push_back(fmt::format("{} ({} of {})", step.step, step.cells.blank - step.left_out,
                                step.verdicts.size() - step.left_out));
  }
  return text + list("· still blank: " + pluralise(cells, "cell"), blank, style) +
         conventions_text(report, style) +
         (is_a_part(report) && report.unreadable.empty() && style.detail != Detail::all
              ? ""
              : list(report.unreadable.empty() ? "Not submitted" : "Missing, or not readable",
                     report.missing, style));
}

// A new worksheet for a part has blank cells among dashes in every matrix, and may have numbers.
bool is_new_worksheet(const CheckReport& report) {
  return report.outcome == Outcome::incomplete &&
         std::ranges::all_of(report.steps, &StepReport::is_unfinished) &&
         std::ranges::any_of(report.steps, [](const StepReport& step) {
           return step.left_out > 0 && step.verdict == Verdict::blank;
         });
}

// Where a part is filled in, what is right is not all of the lesson.
std::string incomplete_text(const CheckReport& report) {
  if (std::ranges::none_of(report.steps, &StepReport::is_unfinished) && is_a_part(report))
    return fmt::format("every number {} is right (a part of the lesson)",
                       report.unreadable.empty() ? "on this sheet" : "that could be read");
  return fmt::format("{}; {}", outcome_name(report.outcome),
                     is_new_worksheet(report)
                         ? "no matrix is filled in yet (the numbers may be the worksheet's own)"
                         : "nothing is wrong so far");
}

// The verdict in one sentence, with the first slip and its mistake.
std::string verdict_text(const CheckReport& report, const CheckStyle& style) {
  std::string start = sanitise(report.submission) + ": ";
  if (const std::size_t files = report.unreadable.size(); files > 0)
    start += pluralise(files, "file") + " could not be read; ";
  std::string text(outcome_name(report.outcome));
  if (report.first_wrong) {
    const StepReport& step = *report.first_wrong_step();
    text += fmt::format("; the first slip is in {}", sanitise(step.step));
    if (report.own.find_step(step.step) == nullptr) {
      text += ", which is not the lesson's given";
    } else if (step.cells.wrong == 0 && !step.coarser_type.empty()) {
      text += fmt::format(", whose numbers are {}, coarser than the rest's", step.coarser_type);
    } else if (!is_certain(step.likely_mistakes(), step.cells.wrong)) {
      text += "; " + cause_text(step);
    } else {
      text += fmt::format(" ({}): {}", step.mistakes.front().id, step.mistakes.front().says);
    }
  } else if (report.outcome == Outcome::undecided) {
    text += "; nothing is wrong, but rounding alone could have made these numbers";
  } else if (report.outcome == Outcome::incomplete) {
    text = incomplete_text(report);
  }
  text = paragraph(start + text, style, 0);
  if (!style.colour) return text;
  constexpr std::string_view colours[] = {"32", "31", "33", "32"};  // of the outcomes
  text.pop_back();
  return fmt::format("\x1b[{}m{}\x1b[0m\n", colours[static_cast<std::size_t>(report.outcome)],
                     text);
}

// The wrong steps, with the cells of the first wrong matrix; or all steps with their cells. `lines`
// are those of the other texts on the screen.
std::string steps_text(const CheckReport& report, const CheckStyle& style, std::ptrdiff_t lines) {
  constexpr std::ptrdiff_t screen = 22;  // of 24 lines; the command and the prompt have one each
  constexpr std::ptrdiff_t around = 3;   // the column labels, what is left out, the legend
  const bool all = style.detail == Detail::all;
  std::vector<std::string> texts;
  for (const StepReport& step : report.steps) {
    texts.push_back(all || step.is_wrong() ? step_text(step, report, style) : "");
    lines += std::ranges::count(texts.back(), '\n');
  }
  const std::ptrdiff_t rows = all ? 24 : std::max<std::ptrdiff_t>(4, screen - around - lines);
  std::string text;
  std::size_t matrices = 0;
  for (std::size_t k = 0; k < texts.size(); ++k) {
    const StepReport& step = report.steps[k];
    text += texts[k];
    std::string cells;
    for (std::size_t m = 0; m < step.written.matrices() && !step.verdicts.empty(); ++m) {
      if (!has(step, m, all ? Verdict::rounding : Verdict::wrong)) continue;
      if (++matrices > 1 && !all) continue;
      if (step.written.matrices() > 1) cells += "    " + matrix_name(step.written, m) + "\n";
      cells += marked_grid(step, report.own, m, style, static_cast<std::size_t>(rows));
    }
    text += cells.empty() ? "" : cells + verdict_legend(step, style);
  }
  return text + (matrices > 1 && !all
                     ? "  (--all shows the numbers of the other wrong matrices, too.)\n"
                     : "");
}

}  // namespace

std::string checked_arithmetic(const Trace& own, const StepReport& step, std::size_t longest) {
  if (!step.first || !own.find_step(step.step)) return {};
  const int digits = step.basis == ToleranceBasis::whole ? 4 : std::clamp(step.digits, 2, 12);
  const int digits_of_operands = std::max(digits, std::min(step.first->digits, 12));
  for (const std::size_t max_terms : {std::size_t{8}, std::size_t{4}}) {
    const CellArithmetic worked = arithmetic_of(
        own, step.first->cell, {.digits = digits_of_operands, .max_terms = max_terms});
    if (worked.lines.size() < 2) return {};
    // The last line is the lesson's own cell if a sum was rounded; write the result itself.
    const std::string result = brief(step.first->from_yours, digits);
    // If a number is only moved, its origin is the useful part.
    const bool moved = worked.lines.size() == 2;
    const std::string& how = worked.lines[moved ? 0 : 1];
    const bool same = moved || brief(worked.from_printed, digits_of_operands) == result;
    std::string sum = fmt::format("{} {} {}", how, same ? "=" : "≈", result);
    if (width(sum) <= longest) return sum;
  }
  return {};
}

std::string checked_text(const CheckReport& report, const CheckStyle& style) {
  std::string passes;
  if (const auto& both = report.passes)
    passes = paragraph(
        pass_text("Forward pass", both->forward) + " " + pass_text("Gradients", both->backward),
        style, 2);
  const std::string end = others_text(report, style) + passes + verdict_text(report, style);
  if (style.detail == Detail::all) return steps_text(report, style, 0) + end;
  const std::string start =
      is_new_worksheet(report)
          ? ""
          : tolerances_text(report, style) +
                verdict_line(report, Verdict::correct, "right", style) +
                verdict_line(report, Verdict::rounding, "right except for rounding", style);
  return start + steps_text(report, style, std::ranges::count(start + end, '\n')) + end;
}

std::vector<std::pair<std::string_view, IndexRange>> shown_extents(const StepReport& step,
                                                                   TokenLayout token_layout) {
  const Region& region = *step.region;
  std::vector<std::pair<std::string_view, IndexRange>> extents;
  for (std::size_t a = 0; a < step.written.leading_axes(); ++a) {
    extents.emplace_back(step.written.axes[a].name == "batch" ? "batch" : "head", region.axes[a]);
  }
  IndexRange rows = region.axes.size() > 1 ? region.axes[region.axes.size() - 2] : IndexRange{};
  IndexRange columns = region.axes.back();
  if (is_shown_transposed(step.written, token_layout)) std::swap(rows, columns);
  extents.emplace_back("row", rows);
  extents.emplace_back("column", columns);
  return extents;
}

std::vector<const StepReport*> undecided_steps(const CheckReport& report) {
  return steps_that(report, [](const StepReport& step) { return step.cells.undecided > 0; });
}

std::string room_text(const std::vector<const StepReport*>& steps) {
  return "rounding alone may move these cells by " + amount_text(steps, [](const StepReport& step) {
           return step.room.value_or(step.tolerance);
         });
}

std::string undecided_text(const std::vector<const StepReport*>& steps, std::string_view verb,
                           const CheckStyle& style) {
  constexpr std::size_t most = 3;
  std::string text;
  Steps others;
  std::size_t shown = 0;
  const auto open = filtered(steps, [](const StepReport* one) { return one->cells.undecided > 0; });
  for (const Steps& group : grouped(open, [](const StepReport& one) { return one.decided_by; })) {
    if (++shown > most && style.detail != Detail::all) {
      others.insert(others.end(), group.begin(), group.end());
      continue;
    }
    std::vector<std::string> by = group.front()->decided_by;
    for (std::string& name : by) {
      const bool is_in_part = contains(steps, name, &StepReport::step);
      name = (is_in_part ? "the missing cells of " : "") + sanitise(name);
    }
    const std::string deciding =
        by.empty() ? "More decimals would decide."
                   : fmt::format("{} {} to decide.", verb, fmt::join(by, " and "));
    text += list("? undecided", names_of(group), style) +
            paragraph(fmt::format("Undecided: {}. {}", room_text(group), deciding), style);
  }
  return text + list("? undecided, too", names_of(others), style);
}

std::string checked_causes(const Trace& own, const StepReport& step, const CheckStyle& style) {
  return region_text(step, own, style) + mistakes_text(step, style);
}

std::string cause_text(const StepReport& step) {
  if (step.mistakes.empty()) {
    return step.verdict == Verdict::shape              ? "it has another shape"
           : step.bad_texts.size() >= step.cells.wrong ? "a cell is not a number"
                                                       : "its numbers fit no known mistake";
  }
  const std::span<const Diagnosis> likely = step.likely_mistakes();
  const bool are_several = are_alternatives(likely, step.cells.wrong);
  std::string text = alternatives_text(step, are_several ? 2 : 1);
  for (const Diagnosis& other : likely.subspan(are_several ? 2 : likely.size()))
    text += fmt::format("; or {}", other.id);
  return (is_certain(likely, step.cells.wrong) ? "" : "it could be: ") + text;
}

}  // namespace qkv::inline verdicts
