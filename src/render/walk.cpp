#include "render/walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "render/arithmetic.hpp"
#include "render/changes.hpp"
#include "render/exhibit.hpp"
#include "render/number.hpp"
#include "render/step_words.hpp"
#include "render/text.hpp"
#include "render/worked_cell.hpp"
#include "tensor/change.hpp"
#include "tensor/error.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

constexpr std::size_t widest_prose = 76;
std::string bold(const std::string& text, const WalkLook& look) {
  return look.colour ? "\x1b[1m" + text + "\x1b[0m" : text;
}

// The givens that no step before this one has used; of those that the lesson leaves out, the names.
std::string givens_text(const Lesson& lesson, const Trace& trace, const Step& step,
                        const WalkLook& look) {
  std::string text, unshown;
  for (const Given* given : first_used_by(trace, step)) {
    const std::string title =
        fmt::format("{} ({})", given->name, shown_shape(given->tensor, trace.convention));
    if (!is_shown(lesson, *given)) {
      unshown += (unshown.empty() ? "" : ", ") + title;
      continue;
    }
    text += fmt::format("  given: {}\n", title);
    text += tensor_text(exhibit_of(lesson, trace, given->name, look), trace, look) + "\n";
  }
  if (unshown.empty()) return text;
  return text + indented("given, not shown: " + unshown, look) + "\n";
}

std::string changed_lines(const Step& step, const WalkLook& look) {
  std::string text;
  for (const std::string& line :
       wrapped_arithmetic(visible(changes_text(step, *look.began, look.digits)), look.width - 2)) {
    text += "  " + line + "\n";
  }
  return text;
}

// What lies on the way to the step's result, in a trace that may lack the step.
std::vector<Part> parts_of(const Trace& trace, const std::string& name) {
  const Step* step = trace.find_step(name);
  if (!step || !step->operation->parts) return {};
  return step->operation->parts(trace.call(*step));
}

// The same in the lesson as it was, where there is anything to compare.
const Tensor* before_of(const Part& part, std::span<const Part> before, std::size_t place) {
  if (place >= before.size() || before[place].title != part.title) return nullptr;
  const Tensor& tensor = before[place].tensor;
  return comparable(part.tensor, tensor) && differs(part.tensor, tensor) ? &tensor : nullptr;
}

std::string parts_text(const Lesson& lesson, const Trace& trace, const Step& step,
                       const WalkLook& look) {
  const std::string whole = way_to_whole(lesson, trace, step.name, look);
  const std::vector<Part> parts = parts_of(trace, step.name);
  const std::vector<Part> before =
      look.began ? parts_of(*look.began, step.name) : std::vector<Part>();
  std::string text;
  // Of many heads the way of one will do: the one that the worked cell is in.
  constexpr std::size_t many = 3;
  WalkLook one = look;
  if (!one.head && step.output.matrices() >= many) {
    one.head = head_of(step.output, cell_of(lesson, trace, step).matrix);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += fmt::format("  on the way: {}\n", parts[i].title);
    text += tensor_text({parts[i].tensor, whole, before_of(parts[i], before, i)}, trace, one);
    text += "\n";
  }
  return text;
}

// What lies on the way, the step's matrix, what was changed of it and one cell worked out.
std::string result_text(const Lesson& lesson, const Trace& trace, const Step& step,
                        const WalkLook& look) {
  std::string text = parts_text(lesson, trace, step, look);
  const std::string title =
      fmt::format("  {} ({})", step.name, shown_shape(step.output, trace.convention));
  text += bold(title, look) + "\n" +
          result_matrix_text(exhibit_of(lesson, trace, step.name, look), trace,
                             step.operation->makes_weights, look);
  if (look.began) text += changed_lines(step, look);
  return text + "\n" + worked_cell_text(lesson, trace, step, look);
}

// On one line where there is room.
std::string step_heading(const Lesson& lesson, const Trace& trace, const Step& step,
                         const WalkLook& look) {
  const std::string name = fmt::format("{}/{}  {}", step.number, trace.length, step.name);
  const std::string title = visible(title_of(lesson, step));
  const std::string line = bold(name, look);
  if (width(name) + 2 + width(title) <= look.width) return fmt::format("{}  {}\n", line, title);
  return line + "\n" + indented(title, look);
}

}  // namespace

std::string indented(const std::string& prose, const WalkLook& look) {
  std::string text;
  for (const std::string& line : wrapped(prose, std::min(look.width, widest_prose + 2) - 2)) {
    text += line.empty() ? "\n" : "  " + line + "\n";
  }
  return text;
}

std::string worked_text(const CellArithmetic& worked, const WalkLook& look, std::size_t indent) {
  std::string text;
  std::string start = worked.cell;
  for (const std::string& line : worked.lines) {
    const std::size_t room = std::max(look.width, indent + 12) - indent - 2;
    std::size_t in = indent;
    for (const std::string& piece :
         wrapped_arithmetic(visible(fmt::format("{} = {}", start, line)), room)) {
      text += std::string(in, ' ') + piece + "\n";
      in = indent + 2;
    }
    start.clear();
  }
  if (!worked.remark.empty()) {
    for (const std::string& line :
         wrapped(worked.remark, std::max(look.width, indent + 12) - indent)) {
      text += std::string(indent, ' ') + line + "\n";
    }
  }
  return text;
}

std::string lesson_heading(const Lesson& lesson, const WalkLook& look) {
  std::string text;
  for (const std::string& line : wrapped(lesson.title, look.width)) text += bold(line, look) + "\n";
  if (!lesson.summary.empty()) text += indented(lesson.summary, look);
  if (!lesson.source.empty()) text += indented("Numbers from: " + lesson.source, look);
  if (lesson.recipe.convention == Convention::columns) {
    text += indented("Here a token is a column: keys run down, queries across.", look);
  }
  if (lesson.changed) text += "\n" + indented(std::string(changed_words), look);
  return text;
}

std::string formula_text(const Trace& trace, const Step& step) {
  std::string text;
  for (const FormulaPiece& piece : formula_pieces(trace, step)) {
    text += piece.text;
    if (piece.is_operand) text += fmt::format("{} ({})", piece.transposed ? "ᵀ" : "", piece.shape);
  }
  return fmt::format("{} → {} ({})", text, step.name, shown_shape(step.output, trace.convention));
}

CellReference cell_of(const Lesson& lesson, const Trace& trace, const Step& step) {
  const std::string& chosen = lesson.texts[step.number - 1].cell.text;
  if (chosen.empty()) return typical_cell(step);
  try {
    return find_cell(chosen, trace);
  } catch (const InputError&) {  // another text may not have its words
    return typical_cell(step);
  }
}

CellReference in_head(CellReference cell, const Trace& trace, const WalkLook& look) {
  const Tensor& tensor = trace.at(cell.name);
  for (std::size_t m = 0; look.head && m < tensor.matrices(); ++m) {
    if (head_of(tensor, m) != look.head) continue;
    cell.matrix = m;
    break;
  }
  return cell;
}

CellReference typical_cell(const Step& step) {
  const Tensor& tensor = step.output;
  CellReference cell{.name = step.name};
  cell.row = std::min<std::size_t>(2, tensor.rows() - 1);
  double best = -1;
  for (std::size_t j = 0; j < tensor.columns(); ++j) {
    const double size = std::abs(tensor.at(0, cell.row, j));
    if (std::isfinite(size) && size > best) {
      best = size;
      cell.column = j;
    }
  }
  return cell;
}

std::string step_text(const Lesson& lesson, const Trace& trace, const Step& step,
                      const WalkLook& look) {
  const bool shows = lesson.texts[step.number - 1].show;
  std::string text = step_heading(lesson, trace, step, look) + "\n";
  text += indented(formula_text(trace, step), look) + "\n";
  text += indented(said_of(lesson, trace, step, look.digits), look) + "\n";
  text += givens_text(lesson, trace, step, look);
  if (shows) text += result_text(lesson, trace, step, look);
  const std::string notice = noticed_of(lesson, trace, step, look.digits);
  const std::string legend = exponent_legend(text + notice);
  if (!legend.empty()) text += indented(legend, look) + (notice.empty() ? "" : "\n");
  if (!notice.empty()) text += indented("Notice: " + notice, look);
  const std::string questions = questions_of(lesson, trace, step, look.digits);
  if (!questions.empty()) text += "\n" + indented("Try:\n\n" + questions, look);
  return text;
}

}  // namespace qkv
