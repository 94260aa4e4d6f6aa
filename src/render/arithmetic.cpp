#include "render/arithmetic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "render/number.hpp"
#include "render/text.hpp"

namespace qkv {
namespace {

using Kind = Expression::Kind;

// How tightly an operation binds its parts: a part that binds less needs brackets.
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

// How many strides it takes to work a term out.
std::size_t height(const Expression& term) {
  std::size_t highest = 0;
  for (const Expression& part : term.parts()) highest = std::max(highest, height(part) + 1);
  return highest;
}

std::string latex_name(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (std::string_view("\\{}_^&%$#~").find(c) == std::string_view::npos) {
      result += c;
    } else if (c == '\\' || c == '^' || c == '~') {
      result += fmt::format("\\char`\\{} ", c);
    } else {
      result += fmt::format("\\{}", c);
    }
  }
  return result;
}

// `scores[cat,fat]` as scores with an index below it.
std::string latex_cell(std::string_view reference) {
  const std::size_t open = reference.find('[');
  if (open == std::string_view::npos) return fmt::format("\\text{{{}}}", latex_name(reference));
  const std::string_view inside = reference.substr(open + 1, reference.size() - open - 2);
  return fmt::format("\\text{{{}}}_{{\\text{{{}}}}}", latex_name(reference.substr(0, open)),
                     latex_name(inside));
}

// Writes a term at one stage of the calculation: at stage 0 with the names of its cells, at stage s
// with every part worked out that takes fewer than s strides.
class Writer {
 public:
  Writer(std::size_t stage, const ArithmeticLook& look,
         const std::function<std::string(const CellPlace&)>& name)
      : stage_(stage), look_(look), name_(name) {}

  std::string write(const Expression& term) const {
    if (term.kind() == Kind::number) return constant(term.value());
    if (stage_ > height(term)) return value(term.value());
    switch (term.kind()) {
      case Kind::cell: return in_latex() ? latex_cell(name_(term.place())) : name_(term.place());
      case Kind::sum: return sum(term);
      case Kind::difference: return joined(term, in_latex() ? " - " : " − ", 1, 2);
      case Kind::product: return joined(term, in_latex() ? " \\cdot " : "·", 3, 3);
      case Kind::quotient: return quotient(term);
      case Kind::negative: return "-" + part(term, 0, 3);
      case Kind::root: return root(term);
      case Kind::exponential: return exponential(term);
      case Kind::power: return raised(part(term, 0, 5), term.parts()[1]);
      case Kind::sine: return function("sin", term);
      case Kind::cosine: return function("cos", term);
      case Kind::hyperbolic_tangent: return function("tanh", term);
      case Kind::error_function: return function("erf", term);
      case Kind::maximum: return function("max", term);
      case Kind::number: break;
    }
    return {};
  }

 private:
  bool in_latex() const { return look_.notation == Notation::latex; }

  // A number of the maths itself, such as 10000, with all its digits.
  std::string constant(double x) const { return finite_or_sign(x, fmt::format("{}", x)); }
  std::string value(double x) const { return finite_or_sign(x, brief(x, look_.digits)); }

  std::string finite_or_sign(double x, std::string text) const {
    if (!in_latex()) return text;
    if (std::isinf(x)) return x > 0 ? "\\infty" : "-\\infty";
    const std::size_t e = text.find('e');
    if (e == std::string::npos) return text;
    return fmt::format("{} \\cdot 10^{{{}}}", text.substr(0, e), std::stoi(text.substr(e + 1)));
  }

  bool is_worked_out(const Expression& term) const {
    return stage_ > height(term) || term.kind() == Kind::number;
  }

  // A part in brackets where it binds less than `least`, or is negative after an operator.
  std::string part(const Expression& term, std::size_t i, int least) const {
    const Expression& part = term.parts()[i];
    const std::string text = write(part);
    const bool is_number = is_worked_out(part);
    const bool open = is_number ? i > 0 && text.starts_with('-') : binding(part.kind()) < least;
    return open ? bracketed(text) : text;
  }

  std::string bracketed(const std::string& text) const {
    return in_latex() ? fmt::format("\\left({}\\right)", text) : fmt::format("({})", text);
  }

  std::string joined(const Expression& term, std::string_view sign, int left, int right) const {
    return part(term, 0, left) + std::string(sign) + part(term, 1, right);
  }

  std::string sum(const Expression& term) const {
    const std::size_t count = term.parts().size();
    const std::size_t outermost = stage_ == 0 ? look_.most_names : look_.most_terms;
    const std::size_t most = outermost != 0 && depth_ > 0 ? 2 : outermost;
    const bool cut = most != 0 && count > most;
    const std::size_t first = cut ? most - 1 : count;
    std::string text;
    ++depth_;
    for (std::size_t i = 0; i < first; ++i) text += (i == 0 ? "" : " + ") + part(term, i, 1);
    if (cut) {
      text += in_latex() ? " + \\dots + " : fmt::format(" + … {} more … + ", count - first - 1);
      text += part(term, count - 1, 1);
    }
    --depth_;
    return text;
  }

  std::string quotient(const Expression& term) const {
    if (!in_latex()) return joined(term, " / ", 3, 4);
    return fmt::format("\\frac{{{}}}{{{}}}", write(term.parts()[0]), write(term.parts()[1]));
  }

  std::string root(const Expression& term) const {
    const std::string inside = write(term.parts()[0]);
    if (in_latex()) return fmt::format("\\sqrt{{{}}}", inside);
    return is_worked_out(term.parts()[0]) ? "√" + inside : "√(" + inside + ")";
  }

  std::string raised(const std::string& base, const Expression& exponent) const {
    const std::string text = write(exponent);
    if (in_latex()) return fmt::format("{}^{{{}}}", base, text);
    const bool plain = (is_worked_out(exponent) && !text.starts_with('-')) ||
                       (stage_ == 0 && exponent.kind() == Kind::cell);
    return plain ? base + "^" + text : base + "^(" + text + ")";
  }

  std::string exponential(const Expression& term) const { return raised("e", term.parts()[0]); }

  std::string function(std::string_view name, const Expression& term) const {
    std::string inside;
    for (const Expression& part : term.parts()) {
      inside += (inside.empty() ? "" : ", ") + write(part);
    }
    if (!in_latex()) return fmt::format("{}({})", name, inside);
    const bool usual = name != "erf";
    return usual ? fmt::format("\\{}\\left({}\\right)", name, inside)
                 : fmt::format("\\operatorname{{{}}}\\left({}\\right)", name, inside);
  }

  std::size_t stage_;
  mutable int depth_ = 0;  // of sums within sums: the inner ones are cut shorter
  const ArithmeticLook& look_;
  const std::function<std::string(const CellPlace&)>& name_;
};

template <class N>
Cell<N> cell_at(const Call& call, const Tensor& output, const CellReference& reference) {
  Cell<N> cell;
  cell.call = &call;
  cell.output = &output;
  cell.matrix = reference.matrix;
  cell.row = reference.row;
  cell.column = reference.column;
  return cell;
}

}  // namespace

Expression expression_of(const Trace& trace, const Step& step, const CellReference& cell) {
  const Call call = trace.call(step);
  return step.operation->cell.expression(cell_at<Expression>(call, step.output, cell));
}

CellArithmetic arithmetic_of(const Trace& trace, const CellReference& cell,
                             const ArithmeticLook& look) {
  const Tensor& tensor = trace.at(cell.name);
  CellArithmetic result{.cell = reference_text(cell, tensor, trace.convention),
                        .value = tensor.at(cell.matrix, cell.row, cell.column),
                        .lines = {}};
  if (look.notation == Notation::latex) result.cell = latex_cell(result.cell);
  const Step* step = trace.find_step(cell.name);
  if (!step) {
    result.lines = {fmt::format("{}", result.value)};
    return result;
  }
  const Expression expression = expression_of(trace, *step, cell);
  const Call call = trace.call(*step);
  const std::function<std::string(const CellPlace&)> name = [&](const CellPlace& place) {
    return reference_text(
        {std::string(call.names[place.operand]), place.matrix, place.row, place.column},
        *call.inputs[place.operand], trace.convention);
  };
  for (std::size_t stage = 0; stage <= height(expression) + 1; ++stage) {
    std::string line = Writer(stage, look, name).write(expression);
    if (result.lines.empty() || line != result.lines.back())
      result.lines.push_back(std::move(line));
  }
  return result;
}

namespace {

// A product of cells that takes more than a line breaks behind its sign.
std::string with_breaks(const std::string& held, std::size_t columns) {
  constexpr std::string_view times = "·";
  std::string text;
  for (std::size_t at = 0; at < held.size();) {
    const std::size_t end = std::min(held.find(' ', at), held.size());
    std::string word = held.substr(at, end - at);
    if (width(word) > columns) {
      for (std::size_t i = word.find(times); i != std::string::npos; i = word.find(times, i + 3)) {
        word.insert(i + times.size(), " ");
      }
    }
    text += word;
    if (end < held.size()) text += ' ';
    at = end + 1;
  }
  return text;
}

}  // namespace

std::vector<std::string> wrapped_arithmetic(std::string_view line, std::size_t columns) {
  // Blanks inside a cell's name don't break: they are no-break spaces until the line is laid out.
  constexpr std::string_view no_break = "\u00a0";
  std::string held;
  int depth = 0;
  for (const char c : line) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    held += c == ' ' && depth > 0 ? std::string(no_break) : std::string(1, c);
  }
  std::vector<std::string> lines = wrapped(with_breaks(held, columns), columns);
  for (std::string& piece : lines) {
    for (std::size_t at = piece.find(no_break); at != std::string::npos;
         at = piece.find(no_break)) {
      piece.replace(at, no_break.size(), " ");
    }
  }
  return lines;
}

}  // namespace qkv
