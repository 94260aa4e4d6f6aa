#include "exposition/arithmetic.hpp"

#include "lesson/model/predictions.hpp"
#include "text/number.hpp"
#include "text/unicode.hpp"

namespace qkv::inline exposition {
namespace {

using Kind = Expression::Kind;

// Operator precedence: a part with a lower one needs brackets.
int binding(Kind kind) {
  switch (kind) {
    case Kind::sum:
    case Kind::difference: return 1;
    case Kind::negative: return 2;
    case Kind::product:
    case Kind::quotient: return 3;
    case Kind::power: return 4;
    default: return 5;
  }
}

std::string latex_name(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool is_special = contains(std::string_view("\\{}_^&%$#~"), c);
    const bool is_accent = contains(std::string_view("\\^~"), c);  // behind a backslash
    result += is_accent ? "\\char`\\" : is_special ? "\\" : "";
    result.append(1, c).append(is_accent ? " " : "");
  }
  return result;
}

// A cell's name in LaTeX: `scores[cat,fat]` as scores with a subscript.
std::string latex_cell(std::string_view reference) {
  const std::size_t open = reference.find('[');
  if (open == std::string_view::npos) return fmt::format("\\text{{{}}}", latex_name(reference));
  const std::string_view inside = reference.substr(open + 1, reference.size() - open - 2);
  return fmt::format("\\text{{{}}}_{{\\text{{{}}}}}", latex_name(reference.substr(0, open)),
                     latex_name(inside));
}

// Options for writing the arithmetic of a step's cells.
struct CellNotation {
  const ArithmeticStyle& look;
  bool weight_first = false;  // a product of two cells prints its second factor first: W·x
  std::function<std::string(const CellPlace&)> name;  // of an operand's cell
};

// Writes a term at a stage: 0 names cells; at s, parts of fewer than s operations are evaluated.
struct Writer {
  std::size_t stage;
  const CellNotation& notation;
  mutable int depth = 0;  // nesting of sums: inner ones are shorter

  std::string write(const Expression& term) const {
    if (term.kind() == Kind::number) return constant(term.value());
    if (stage > term.strides()) return value(term.value());
    switch (term.kind()) {
      case Kind::cell:
        return in_latex() ? latex_cell(notation.name(term.place())) : notation.name(term.place());
      case Kind::sum: return sum(term);
      case Kind::difference: return joined(term, in_latex() ? " - " : " − ", 1, 2);
      case Kind::product: return product(term);
      case Kind::quotient: return quotient(term);
      case Kind::negative: return negated(part(term, 0, 3));
      case Kind::root: return root(term);
      case Kind::exponential: return raised("e", term.parts()[0]);
      case Kind::power: return raised(part(term, 0, 5), term.parts()[1]);
      default: return function(sign_of(term.kind()), term);
    }
  }

  bool in_latex() const { return notation.look.notation == Notation::latex; }

  // A constant of the formula, such as 10000, with all its digits.
  std::string constant(double x) const {
    const bool is_long = std::isfinite(x) && x == std::trunc(x) && std::abs(x) >= 1e5;
    return finite_or_sign(x, is_long ? brief(x, 0) : fmt::format("{}", x));
  }
  std::string value(double x) const { return finite_or_sign(x, brief(x, notation.look.digits)); }

  std::string finite_or_sign(double x, const std::string& text) const {
    if (!in_latex()) return text.starts_with('-') ? with_sign(text) : text;
    // LaTeX would set a comma between digits with the space of a list.
    return latex_number(x, replace_all(text, ",", "{,}"));
  }

  bool is_negative(std::string_view text) const { return text.starts_with(notation.look.minus); }

  std::string with_sign(std::string_view number) const {
    return std::string(notation.look.minus).append(number.substr(1));
  }

  bool is_shown_as_number(const Expression& term) const {
    return stage > term.strides() || term.kind() == Kind::number;
  }

  // A part, in brackets if it binds less than `least`, or begins with a sign after an operator.
  std::string part(const Expression& term, std::size_t i, int least) const {
    const Expression& part = term.parts()[i];
    const std::string text = write(part);
    const bool is_number = is_shown_as_number(part);
    if (!is_number && binding(part.kind()) < least) return bracketed(text);
    if (i == 0 || !is_negative(text)) return text;
    if (is_number || part.kind() == Kind::negative) return bracketed(text);
    const std::string_view times = in_latex() ? " \\cdot" : "·";
    const std::size_t end = std::min({text.find(times), text.find(' '), text.size()});
    return bracketed(text.substr(0, end)) + text.substr(end);
  }

  std::string bracketed(const std::string& text) const {
    return in_latex() ? fmt::format("\\left({}\\right)", text) : fmt::format("({})", text);
  }

  std::string joined(const Expression& term, std::string_view sign, int left, int right) const {
    return part(term, 0, left) + std::string(sign) + part(term, 1, right);
  }

  std::string product(const Expression& term) const {
    const std::string_view sign = in_latex() ? " \\cdot " : "·";
    if (notation.weight_first && is_product_of_cells(term)) {
      return joined(Expression::of(Kind::product, {term.parts()[1], term.parts()[0]}), sign, 3, 3);
    }
    return joined(term, sign, minimum_as_factor(term.parts()[0]),
                  minimum_as_factor(term.parts()[1]));
  }

  // In text a quotient needs brackets, (a / b)·c: c might be read as part of the denominator.
  int minimum_as_factor(const Expression& factor) const {
    return !in_latex() && factor.kind() == Kind::quotient ? 4 : 3;
  }

  std::string sum(const Expression& term) const {
    constexpr std::size_t kept_outside = 4, kept_inside = 2;
    const std::size_t kept = depth > 0 ? kept_inside : kept_outside;
    ++depth;
    std::string text = listed(term, " + ", kept, [&](std::size_t i) { return part(term, i, 1); });
    --depth;
    return text;
  }

  // Shortens a list to its ends, more if nested. More is left out than the note takes.
  template <class Write>
  std::string listed(const Expression& term, std::string_view sign, std::size_t kept,
                     Write write) const {
    const std::size_t count = term.parts().size();
    const bool cut = notation.look.max_terms != 0 && count > notation.look.max_terms;
    const std::size_t first = cut ? kept - 1 : count;
    std::string text;
    for (std::size_t i = 0; i < first; ++i) text.append(i == 0 ? "" : sign).append(write(i));
    if (!cut) return text;
    text += in_latex() ? fmt::format("{}\\dots{}", sign, sign)
                       : fmt::format("{}… {} more …{}", sign, count - first - 1, sign);
    return text + write(count - 1);
  }

  std::string quotient(const Expression& term) const {
    if (!in_latex()) return joined(term, " / ", 3, 4);
    return fmt::format("\\frac{{{}}}{{{}}}", write(term.parts()[0]), write(term.parts()[1]));
  }

  std::string negated(const std::string& text) const {
    return std::string(notation.look.minus) + (is_negative(text) ? bracketed(text) : text);
  }

  std::string root(const Expression& term) const {
    const std::string inside = write(term.parts()[0]);
    if (in_latex()) return fmt::format("\\sqrt{{{}}}", inside);
    return is_shown_as_number(term.parts()[0]) ? "√" + inside : "√(" + inside + ")";
  }

  std::string raised(const std::string& base, const Expression& exponent) const {
    const std::string text = write(exponent);
    if (in_latex()) return fmt::format("{}^{{{}}}", base, text);
    const bool plain = (is_shown_as_number(exponent) && !is_negative(text)) ||
                       (stage == 0 && exponent.kind() == Kind::cell);
    return plain ? base + "^" + text : base + "^(" + text + ")";
  }

  std::string function(std::string_view name, const Expression& term) const {
    constexpr std::size_t kept = 4;
    const std::string inside =
        listed(term, ", ", kept, [&](std::size_t i) { return write(term.parts()[i]); });
    if (!in_latex()) return fmt::format("{}({})", name, inside);
    const std::string command = name == "erf" ? "operatorname{erf}" : std::string(name);
    return fmt::format("\\{}\\left({}\\right)", command, inside);
  }
};

// What a person gets who works with the numbers as they are printed.
struct OnPaper {
  const Expression& cell;
  int digits;
  // For each count of strides whether such a term has another result than the one that is printed.
  std::vector<bool> differs = std::vector<bool>(cell.strides() + 2);
  std::map<const void*, double> results = {};
  // The cell from its operands' printed numbers, without rounding in between.
  double result = worked_out(cell);

  double printed(const Expression& term) const {
    if (term.kind() == Kind::number) return term.value();
    std::string text = brief(term.value(), digits);
    std::erase(text, ',');
    return parse_number<double>(text).value_or(term.value());
  }

  double worked_out(const Expression& term) {
    if (term.parts().empty()) return printed(term);
    const auto known = results.find(term.identity());
    if (known != results.end()) return known->second;
    std::vector<double> rounded, unrounded;
    for (const Expression& part : term.parts()) {
      rounded.push_back(printed(part));
      unrounded.push_back(worked_out(part));
    }
    // Nobody works out an error function: it is looked up, and pages have no values of it.
    const bool same =
        term.kind() != Kind::error_function &&
        brief(Expression::evaluate(term.kind(), rounded), digits) == brief(term.value(), digits);
    if (!same) differs[term.strides()] = true;
    return results[term.identity()] = Expression::evaluate(term.kind(), unrounded);
  }
};

CellBase place_of(const Call& call, const Step& step, const CellReference& cell) {
  return {&call, &step.output, cell.matrix, cell.row, cell.column};
}

constexpr std::size_t max_listed_cells = 6;
// Truncation and rounding errors of a central difference of this width are often about 1e-8;
// narrower ones are tried until two agree.
constexpr double relative_step = 0x1p-13;

// The name of what the step is the gradient of; empty if none, or if of one use among several.
std::string differentiated_name(const Trace& trace, const Step& step) {
  const std::string prefix = gradient_name("");
  if (!is_gradient(*step.operation) || !step.name.starts_with(prefix)) return {};
  const std::string name = step.name.substr(prefix.size());
  const Tensor* tensor = trace.find(name);
  return tensor && tensor->values.size() == step.output.values.size() ? name : "";
}

// Steps after `name` that have a gradient, and how many of them were not kept.
struct StepsBetween {
  RequestedSteps steps;
  std::size_t left_out = 0;
};

StepsBetween between(const LoadedLesson& loaded, const std::string& name) {
  const Step* start = loaded.trace.find_step(name);
  const std::vector<StepRecipe>& steps = loaded.lesson.recipe.steps;
  const auto is_there = [&](const std::string& wanted) {
    return step_in(loaded.lesson.recipe, wanted) || loaded.trace.find(wanted);
  };
  StepsBetween found;
  for (std::size_t s = start ? start->number : 0; s < steps.size(); ++s) {
    const std::string own = gradient_name(steps[s].name);
    if (!is_there(own)) continue;
    const bool is_kept = loaded.trace.find(steps[s].name) && loaded.trace.find(own);
    if (is_kept) found.steps.push_back(steps[s].name);
    if (!is_kept) ++found.left_out;
  }
  return found;
}

// The recomputed trace after adding to the number at `index` of a given or step.
std::optional<Trace> perturbed_trace(const LoadedLesson& loaded, const std::string& name,
                                     std::size_t index, double by, const RequestedSteps& wanted) {
  const Step* step = loaded.trace.find_step(name);
  Recipe recipe = step ? recipe_after(loaded, *step) : recipe_of(loaded);
  const auto given = std::ranges::find(recipe.givens, name, &Given::name);
  const std::size_t size = given->tensor.rows() * given->tensor.columns();
  given->tensor.mutable_cells(index / size)[index % size] += by;
  Evaluation again = evaluate_all(std::move(recipe), wanted);
  if (!again.faults.empty()) return {};
  return std::move(again.trace);
}

StepSensitivity step_sensitivity(const std::string& name, const Trace& trace, const Trace& above,
                                 const Trace& below, double width) {
  const Tensor& here = trace.at(name);
  const Tensor& gradient = trace.at(gradient_name(name));
  StepSensitivity sensitivity{name, {}};
  for (std::size_t i = 0; i < here.values.size(); ++i) {
    const double more = above.at(name).values[i];
    const double less = below.at(name).values[i];
    const bool moves = more != here.values[i] && less != here.values[i];
    if (!moves || gradient.values[i] == 0 || !std::isfinite(more - less)) continue;
    sensitivity.cells.push_back({i, (more - less) / width});
    sensitivity.largest = std::max(sensitivity.largest, std::abs(more - less) / width);
  }
  return sensitivity;
}

// Returns how far the derivatives of a step are apart, relative to the largest.
double distance_between(const StepSensitivity& one, const StepSensitivity& other) {
  if (one.cells.size() != other.cells.size()) return infinity;
  double apart = 0;
  for (std::size_t i = 0; i < one.cells.size(); ++i)
    apart = std::max(apart, std::abs(one.cells[i].derivative - other.cells[i].derivative));
  return apart == 0 ? 0 : apart / other.largest;
}

}  // namespace

std::string CellArithmetic::on_one_line() const {
  const std::size_t first = lines.size() > 2 ? 1 : 0;
  std::string text = lines[first];
  for (std::size_t i = first + 1; i < lines.size(); ++i) {
    text += fmt::format(" {} {}", signs[i], lines[i]);
  }
  return remark.empty() ? text : fmt::format("{} ({})", text, remark);
}

std::string latex_number(double value, const std::string& text) {
  if (std::isinf(value)) return value > 0 ? "\\infty" : "-\\infty";
  const std::size_t e = text.find('e');
  if (e == std::string::npos) return text;
  return fmt::format("{} \\cdot 10^{{{}}}", text.substr(0, e), std::stoi(text.substr(e + 1)));
}

bool is_product_of_cells(const Expression& term) {
  return term.kind() == Kind::product && term.parts()[0].kind() == Kind::cell &&
         term.parts()[1].kind() == Kind::cell;
}

std::string_view sign_of(Kind kind) {
  constexpr std::string_view signs[] = {"",    "",   "+",   "-",   "*",    "/",   "~", "sqrt",
                                        "exp", "ln", "sin", "cos", "tanh", "erf", "^", "max"};
  return signs[static_cast<std::size_t>(kind)];
}

Expression expression_of(const Trace& trace, const Step& step, const CellReference& cell) {
  const Call call = trace.call(step);
  return step.operation->cell.expression({place_of(call, step, cell)});
}

bool writes_weight_first(const Trace& trace, const Step& step) {
  return trace.token_layout == TokenLayout::columns &&
         !step.operation->form(trace.call(step)).formula_by_columns.empty();
}

CellArithmetic arithmetic_of(const Trace& trace, const CellReference& cell,
                             const ArithmeticStyle& look) {
  const Tensor& tensor = trace.at(cell.name);
  CellArithmetic result{.cell = reference_text(cell, tensor, trace.token_layout),
                        .value = tensor.at(cell.matrix, cell.row, cell.column)};
  if (look.notation == Notation::latex) result.cell = latex_cell(result.cell);
  const Step* step = trace.find_step(cell.name);
  if (!step) {
    result.lines = {fmt::format("{}", result.value)};
    result.signs = {"="};
    return result;
  }
  const Expression expression = expression_of(trace, *step, cell);
  const Call call = trace.call(*step);
  if (step->operation->remark) result.remark = step->operation->remark(place_of(call, *step, cell));
  const CellNotation notation{
      .look = look,
      .weight_first = writes_weight_first(trace, *step),
      .name = [&](const CellPlace& place) {
        return reference_text(
            {std::string(call.names[place.operand]), place.matrix, place.row, place.column},
            *call.inputs[place.operand], trace.token_layout);
      }};
  const OnPaper on_paper{expression, look.digits};
  result.from_printed = on_paper.result;
  const std::string_view about = look.notation == Notation::latex ? "\\approx" : "≈";
  for (std::size_t stage = 0; stage <= expression.strides() + 1; ++stage) {
    std::string line = Writer{stage, notation}.write(expression);
    if (!result.lines.empty() && line == result.lines.back()) continue;
    result.signs.push_back(stage > 0 && on_paper.differs[stage - 1] ? about : "=");
    result.lines.push_back(std::move(line));
  }
  return result;
}

std::optional<Sensitivity> sensitivity_of(const LoadedLesson& loaded,
                                          const CellReference& gradient) {
  const Trace& trace = loaded.trace;
  const Step* step = trace.find_step(gradient.name);
  const std::string name = step ? differentiated_name(trace, *step) : "";
  if (!step || name.empty()) return {};
  const std::size_t index = step->output.index(gradient.matrix, gradient.row, gradient.column);
  const StepsBetween intermediates = between(loaded, name);
  if (intermediates.steps.empty() && intermediates.left_out == 0) return {};
  const CellReference cell = cell_at(name, trace.at(name), index);
  Sensitivity sensitivity{cell, {}, intermediates.left_out};
  if (intermediates.steps.empty()) return sensitivity;
  const double there = trace.at(name).values[index];
  double by = relative_step * std::max(1.0, std::abs(there) * relative_step);
  double least = infinity;
  for (int tries = 6; tries > 0 && least > 1e-7; --tries, by /= 32) {
    const auto above = perturbed_trace(loaded, name, index, by, intermediates.steps);
    const auto below = perturbed_trace(loaded, name, index, -by, intermediates.steps);
    if (!above || !below) return {};
    auto now = mapped(intermediates.steps, [&](const std::string& between) {
      return step_sensitivity(between, trace, *above, *below, (there + by) - (there - by));
    });
    double apart = sensitivity.steps.empty() ? infinity : 0;
    for (std::size_t s = 0; s < sensitivity.steps.size(); ++s)
      apart = std::max(apart, distance_between(sensitivity.steps[s], now[s]));
    if (apart > least) break;  // rounding errors grow
    least = apart;
    sensitivity.steps = std::move(now);
  }
  std::erase_if(sensitivity.steps, [](const StepSensitivity& one) { return one.cells.empty(); });
  for (StepSensitivity& one : sensitivity.steps) {
    // Rounds off the error of integers and short fractions.
    const double unit = 0x1p-30 * std::min(1.0, one.largest);
    for (CellSensitivity& to : one.cells) to.derivative = std::round(to.derivative / unit) * unit;
  }
  return sensitivity;
}

std::string sensitivity_text(const StepSensitivity& step, const Trace& trace, int digits) {
  const Tensor& tensor = trace.at(step.name);
  std::string text = fmt::format("{} of {}: ", step.cells.size(), tensor.values.size());
  for (std::size_t k = 0; k < std::min(step.cells.size(), max_listed_cells); ++k) {
    const CellSensitivity& cell = step.cells[k];
    const CellReference place = cell_at("", tensor, cell.index);
    text += fmt::format(
        "{}{}{}{}", k == 0 ? "" : ", ",
        replace_all(reference_text(place, tensor, trace.token_layout), " ", no_break_space),
        no_break_space, brief(cell.derivative, digits));
  }
  return text + (step.cells.size() > max_listed_cells ? ", …" : "");
}

}  // namespace qkv::inline exposition
