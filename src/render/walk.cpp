#include "render/walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "render/arithmetic.hpp"
#include "render/dots.hpp"
#include "render/grid.hpp"
#include "render/step_words.hpp"
#include "render/text.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

constexpr std::size_t widest_prose = 76;
// Of a tensor with more matrices than this, the walk shows the first ones and the last.
constexpr std::size_t most_matrices = 4;
constexpr std::size_t most_terms = 8;
constexpr std::size_t most_names = 4;

std::string bold(const std::string& text, const WalkLook& look) {
  return look.colour ? "\x1b[1m" + text + "\x1b[0m" : text;
}

std::string indented(const std::string& prose, const WalkLook& look) {
  std::string text;
  for (const std::string& line : wrapped(prose, std::min(look.width, widest_prose + 2) - 2)) {
    text += line.empty() ? "\n" : "  " + line + "\n";
  }
  return text;
}

// The command that shows a matrix whole.
std::string whole_matrix_command(const Lesson& lesson, const Trace& trace, std::string_view name) {
  if (trace.find_step(name)) {
    return fmt::format("qkv export {} --step {} -o -", lesson.name, name);
  }
  return fmt::format("qkv export {} -o DIR", lesson.name);
}

std::string hidden_text(const Grid& shown, const std::string& command) {
  const auto span = [](std::size_t first, std::size_t count, std::string_view what) {
    return count == 1 ? fmt::format("{} {}", what, first)
                      : fmt::format("{}s {}–{}", what, first, first + count - 1);
  };
  std::string what;
  if (shown.hidden_rows > 0) what = span(shown.first_hidden_row, shown.hidden_rows, "row");
  if (shown.hidden_columns > 0) {
    what += what.empty() ? "" : " and ";
    what += span(shown.first_hidden_column, shown.hidden_columns, "column");
  }
  return what.empty() ? "" : fmt::format("{} not shown; all of it: {}", what, command);
}

// One row-major matrix as people see it.
std::string matrix_text(const Tensor& shown, std::size_t index, MatrixLabels labels,
                        const std::string& command, const WalkLook& look) {
  const Grid lines = grid(shown.rows(), shown.columns(), shown.matrix(index),
                          {std::move(labels.rows), std::move(labels.columns)},
                          {.width = look.width, .digits = look.digits, .colour = look.colour});
  const std::string hidden = hidden_text(lines, command);
  return lines.text + (hidden.empty() ? "" : indented(hidden, look));
}

// What a terminal gives columns to. Shaded cells have blanks at their end that plain ones lack, so
// a grid drawn again without colour would not do.
std::string without_colour(const std::string& text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      plain += text[i];
    } else {
      i = text.find('m', i);
    }
  }
  return plain;
}

// A matrix of weights: its numbers, and its dots on the right of them, or below.
std::string weights_text(const Tensor& shown, std::size_t index, MatrixLabels labels,
                         const std::string& command, const WalkLook& look) {
  const Dots dotted = dots(shown.rows(), shown.columns(), shown.matrix(index), labels.columns);
  const std::string numbers = matrix_text(shown, index, labels, command, look);
  if (dotted.rows.empty()) return numbers;
  const std::string beside = dots_beside(numbers, without_colour(numbers), dotted, look.width);
  return beside.empty() ? numbers + dots_below(dotted, labels.rows) : beside;
}

// The ids of a batch: each sentence under its own words.
std::string sentences_text(const Tensor& ids, const std::string& command, const WalkLook& look) {
  std::string text;
  for (std::size_t b = 0; b < ids.rows(); ++b) {
    MatrixLabels labels{{fmt::format("batch {}", b + 1)}, {}};
    for (std::size_t i = 0; i < ids.columns(); ++i) {
      labels.columns.emplace_back(ids.axes.back().label(i, b));
    }
    const Tensor row =
        tensor_of({1, ids.columns()},
                  std::vector<double>(
                      ids.values.begin() + static_cast<std::ptrdiff_t>(b * ids.columns()),
                      ids.values.begin() + static_cast<std::ptrdiff_t>((b + 1) * ids.columns())));
    text += matrix_text(row, 0, std::move(labels), command, look);
  }
  return text;
}

std::string tensor_text(const Tensor& tensor, const Trace& trace, const std::string& command,
                        const WalkLook& look, decltype(&matrix_text) one_matrix = matrix_text) {
  if (tensor.rank() == 2 && tensor.axes[1].labels.size() > tensor.columns()) {
    return sentences_text(tensor, command, look);
  }
  const Tensor shown = as_shown(tensor, trace.convention);
  const std::size_t count = shown.matrices();
  std::string text;
  for (std::size_t m = 0; m < count; ++m) {
    if (count > most_matrices && m == most_matrices - 1) {
      text += indented(fmt::format("… {} more, {} to {}; all of them: {}", count - most_matrices,
                                   matrix_name(tensor, m), matrix_name(tensor, count - 2), command),
                       look);
      m = count - 1;
    }
    if (count > 1) text += "  " + matrix_name(tensor, m) + "\n";
    text += one_matrix(shown, m, own_labels(tensor, m, trace.convention), command, look);
  }
  return text;
}

// The givens that no step before this one has used.
std::string givens_text(const Lesson& lesson, const Trace& trace, const Step& step,
                        const WalkLook& look) {
  std::string text;
  for (const Given* given : first_used_by(trace, step)) {
    text += fmt::format("  given: {} ({})\n", given->name,
                        shown_shape(given->tensor, trace.convention));
    text +=
        tensor_text(given->tensor, trace, whole_matrix_command(lesson, trace, given->name), look);
    text += "\n";
  }
  return text;
}

// The result; one that shares out weights in dots as well, with what they mean once below.
std::string output_text(const Trace& trace, const Step& step, const std::string& command,
                        const WalkLook& look) {
  if (!step.operation->makes_weights) return tensor_text(step.output, trace, command, look);
  const Tensor& weights = step.output;
  const bool has_dots = !dots(weights.rows(), weights.columns(), weights.values).rows.empty();
  return tensor_text(weights, trace, command, look, weights_text) +
         (has_dots ? indented(std::string(dots_legend()), look) : "");
}

std::string cell_text(const Trace& trace, const Step& step, const WalkLook& look) {
  if (step.output.values.empty()) return {};
  const CellArithmetic worked =
      arithmetic_of(trace, typical_cell(step),
                    {.digits = look.digits, .most_terms = most_terms, .most_names = most_names});
  if (worked.lines.size() < 2) return {};
  std::string text = "  One cell:\n";
  std::string start = worked.cell;
  for (const std::string& line : worked.lines) {
    const std::vector<std::string> lines =
        wrapped_arithmetic(visible(fmt::format("{} = {}", start, line)), look.width - 6);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      text += (i == 0 ? "    " : "      ") + lines[i] + "\n";
    }
    start.clear();
  }
  return text + "\n";
}

}  // namespace

std::string lesson_heading(const Lesson& lesson, const WalkLook& look) {
  std::string text = bold(visible(lesson.title), look) + "\n";
  if (!lesson.summary.empty()) text += indented(lesson.summary, look);
  if (!lesson.source.empty()) text += indented("Numbers from: " + lesson.source, look);
  if (lesson.recipe.convention == Convention::columns) {
    text += indented("Here a token is a column: keys run down, queries across.", look);
  }
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
  const StepText& words = lesson.texts[step.number - 1];
  const Operation& operation = *step.operation;
  std::string text =
      bold(fmt::format("{}/{}  {}", step.number, lesson.texts.size(), step.name), look) +
      fmt::format("  {}\n\n", operation.title);
  text += indented(formula_text(trace, step), look) + "\n";
  const std::string say = words.say.text.empty() ? std::string(operation.says)
                                                 : live_prose(words.say.text, trace, look.digits);
  text += indented(say, look) + "\n";
  text += givens_text(lesson, trace, step, look);
  const std::string command = whole_matrix_command(lesson, trace, step.name);
  if (operation.parts) {
    for (const Part& part : operation.parts(trace.call(step))) {
      text += fmt::format("  on the way: {}\n", part.title);
      text += tensor_text(part.tensor, trace, command, look) + "\n";
    }
  }
  text +=
      bold(fmt::format("  {} ({})", step.name, shown_shape(step.output, trace.convention)), look) +
      "\n";
  text += output_text(trace, step, command, look) + "\n";
  text += cell_text(trace, step, look);
  const std::string notice = words.notice.text.empty()
                                 ? std::string(operation.notice)
                                 : live_prose(words.notice.text, trace, look.digits);
  if (!notice.empty()) text += indented("Notice: " + notice, look);
  return text;
}

}  // namespace qkv
