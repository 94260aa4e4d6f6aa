#include "render/walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "lesson/prose.hpp"
#include "render/arithmetic.hpp"
#include "render/changes.hpp"
#include "render/dots.hpp"
#include "render/grid.hpp"
#include "render/number.hpp"
#include "render/text.hpp"
#include "render/worked_cell.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

constexpr std::size_t widest_prose = 76;
// Of a tensor with more matrices than this, the walk shows the first two and the last.
constexpr std::size_t most_matrices = 4;
constexpr std::size_t first_matrices = 2;

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

// Decimals that the lesson asks for all stand, so that lists line up: 1.0000 is a number rounded.
std::string number_in_prose(double value, std::optional<int> digits, const WalkLook& look) {
  const std::string text = brief(value, digits.value_or(look.digits));
  const bool plain = text.find_first_of("e,n") == std::string::npos && value != 0;
  return digits && plain ? number(value, *digits) : text;
}

std::string live(const std::string& prose, const Trace& trace, const WalkLook& look) {
  std::string text;
  for (const ProsePiece& piece : pieces_of(prose, trace)) {
    text += piece.text;
    if (!piece.number) continue;
    const std::string written = number_in_prose(*piece.number, piece.digits, look);
    const bool after_sign = text.ends_with("· ") || text.ends_with("+ ");
    text += after_sign && written.starts_with('-') ? "(" + written + ")" : written;
  }
  return text;
}

// The command that shows a matrix whole.
std::string whole_matrix_command(const Lesson& lesson, const Trace& trace, std::string_view name) {
  if (trace.find_step(name)) {
    return fmt::format("qkv export {} --step {} -o -", lesson.where, name);
  }
  return fmt::format("qkv export {} -o DIR", lesson.where);
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

Grid grid_of(const Tensor& shown, std::size_t index, MatrixLabels labels, const WalkLook& look) {
  return grid(shown.rows(), shown.columns(), shown.matrix(index),
              {std::move(labels.rows), std::move(labels.columns)},
              {.width = look.width, .digits = look.digits, .colour = look.colour});
}

// One row-major matrix as people see it.
std::string matrix_text(const Tensor& shown, std::size_t index, MatrixLabels labels,
                        const std::string& command, const WalkLook& look) {
  const Grid lines = grid_of(shown, index, std::move(labels), look);
  const std::string hidden = hidden_text(lines, command);
  return lines.text + (hidden.empty() ? "" : indented(hidden, look));
}

// What is hidden of every matrix alike is said once, below the last.
void say_once(std::string& text, const std::string& remark) {
  if (remark.empty()) return;
  for (std::size_t at = text.find(remark); at != text.rfind(remark); at = text.find(remark)) {
    text.erase(at, remark.size());
  }
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
    if (count > most_matrices && m == first_matrices) {
      text +=
          indented(fmt::format("… {} more, {} to {}; all of them: {}", count - first_matrices - 1,
                               matrix_name(tensor, m), matrix_name(tensor, count - 2), command),
                   look);
      m = count - 1;
    }
    if (count > 1) text += "  " + matrix_name(tensor, m) + "\n";
    text += one_matrix(shown, m, own_labels(tensor, m, trace.convention), command, look);
  }
  if (count > 1) {
    const Grid last =
        grid_of(shown, count - 1, own_labels(tensor, count - 1, trace.convention), look);
    const std::string hidden = hidden_text(last, command);
    if (!hidden.empty()) say_once(text, indented(hidden, look));
  }
  return text;
}

// "Q (7×2)" for {0}; with a ᵀ behind it "Qᵀ (2×7)".
std::string operand_text(const Trace& trace, std::string_view name, bool transposed_here) {
  const Tensor& tensor = trace.at(name);
  Shape shape = tensor.shape();
  if (is_turned(tensor, trace.convention) != transposed_here && shape.size() > 1) {
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  }
  return fmt::format("{}{} ({})", name, transposed_here ? "ᵀ" : "", shape_text(shape));
}

bool uses(const Step& step, std::string_view name) {
  return std::find(step.of.begin(), step.of.end(), name) != step.of.end();
}

bool is_first_use(const Trace& trace, const Step& step, std::string_view given) {
  const auto first = std::find_if(trace.steps.begin(), trace.steps.end(),
                                  [&](const Step& s) { return uses(s, given); });
  return first != trace.steps.end() && first->name == step.name;
}

// The givens that no step before this one has used; of those that the lesson leaves out, the names.
std::string givens_text(const Lesson& lesson, const Trace& trace, const Step& step,
                        const WalkLook& look) {
  std::string text, unshown;
  for (const Given& given : trace.givens) {
    if (!is_first_use(trace, step, given.name)) continue;
    const std::string title =
        fmt::format("{} ({})", given.name, shown_shape(given.tensor, trace.convention));
    if (std::ranges::find(lesson.unshown, given.name) != lesson.unshown.end()) {
      unshown += (unshown.empty() ? "" : ", ") + title;
      continue;
    }
    text += fmt::format("  given: {}\n", title);
    text += tensor_text(given.tensor, trace, whole_matrix_command(lesson, trace, given.name), look);
    text += "\n";
  }
  if (unshown.empty()) return text;
  return text + indented("given, not shown: " + unshown, look) + "\n";
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

std::string changed_lines(const Step& step, const WalkLook& look) {
  std::string text;
  for (const std::string& line :
       wrapped_arithmetic(visible(changes_text(step, *look.before, look.digits)), look.width - 2)) {
    text += "  " + line + "\n";
  }
  return text;
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
  const Call call = trace.call(step);
  const Form form = step.operation->form(call);
  const bool turned = trace.convention == Convention::columns && !form.turned.empty();
  const std::string& formula = turned ? form.turned : form.formula;
  std::string text;
  for (std::size_t i = 0; i < formula.size(); ++i) {
    const std::size_t end = formula.find('}', i);
    if (formula[i] != '{' || end == std::string::npos) {
      text += formula[i];
      continue;
    }
    const auto k = static_cast<std::size_t>(std::stoul(formula.substr(i + 1, end - i - 1)));
    const bool transposed_here = formula.compare(end + 1, std::string_view("ᵀ").size(), "ᵀ") == 0;
    text += operand_text(trace, step.of.at(k), transposed_here);
    i = end + (transposed_here ? std::string_view("ᵀ").size() : 0);
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
      fmt::format("  {}\n\n", words.title.empty() ? operation.title : visible(words.title));
  text += indented(formula_text(trace, step), look) + "\n";
  const std::string say =
      words.say.text.empty() ? std::string(operation.says) : live(words.say.text, trace, look);
  text += indented(say, look) + "\n";
  text += givens_text(lesson, trace, step, look);
  const std::string command = whole_matrix_command(lesson, trace, step.name);
  if (operation.parts && words.show) {
    for (const Part& part : operation.parts(trace.call(step))) {
      text += fmt::format("  on the way: {}\n", part.title);
      text += tensor_text(part.tensor, trace, command, look) + "\n";
    }
  }
  if (words.show) {
    text += bold(fmt::format("  {} ({})", step.name, shown_shape(step.output, trace.convention)),
                 look) +
            "\n";
    text += output_text(trace, step, command, look);
    if (look.before) text += changed_lines(step, look);
    text += "\n";
    text += worked_cell_text(lesson, trace, step, look);
  }
  const std::string notice = words.notice.text.empty() ? std::string(operation.notice)
                                                       : live(words.notice.text, trace, look);
  const std::string legend = exponent_legend(text + notice);
  if (!legend.empty()) text += indented(legend, look) + (notice.empty() ? "" : "\n");
  if (!notice.empty()) text += indented("Notice: " + notice, look);
  return text;
}

}  // namespace qkv
