#include "render/walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "render/arithmetic.hpp"
#include "render/changes.hpp"
#include "render/dots.hpp"
#include "render/grid.hpp"
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
// Of a tensor with more matrices than this, the walk shows the first two and the last.
constexpr std::size_t most_matrices = 4;
constexpr std::size_t first_matrices = 2;

std::string bold(const std::string& text, const WalkLook& look) {
  return look.colour ? "\x1b[1m" + text + "\x1b[0m" : text;
}

// What is shown of a tensor, where the rest of it is to be found, and what it was before somebody
// changed the lesson.
struct Exhibit {
  const Tensor& tensor;
  std::string whole;
  const Tensor* before = nullptr;  ///< nullptr where it is the same, or can't be compared
};

// How to see a matrix whole.
std::string way_to_whole(const Lesson& lesson, const Trace& trace, std::string_view name,
                         const WalkLook& look) {
  const bool is_step = trace.find_step(name) != nullptr;
  if (look.reader == Reader::has_keys) {
    return is_step ? "press e, then the arrows and Tab" : "press x to write it to a file";
  }
  return is_step ? fmt::format("qkv export {} --step {} -o -", visible(lesson.asked), name)
                 : fmt::format("qkv export {} -o DIR", visible(lesson.asked));
}

Exhibit exhibit_of(const Lesson& lesson, const Trace& trace, std::string_view name,
                   const WalkLook& look) {
  const Tensor& tensor = trace.at(name);
  const Tensor* before = look.began ? look.began->find(name) : nullptr;
  const bool marked = before && comparable(tensor, *before) && differs(tensor, *before);
  return {tensor, way_to_whole(lesson, trace, name, look), marked ? before : nullptr};
}

std::string hidden_text(const Grid& shown, const std::string& whole) {
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
  return what.empty() ? "" : fmt::format("{} not shown; all of it: {}", what, whole);
}

// One row-major matrix of an exhibit as people see it: laid out as `shown` is.
struct Sheet {
  std::size_t rows, columns;
  std::span<const double> values;
  std::span<const double> before = {};  ///< empty where nothing has changed
  MatrixLabels labels;
};

// It as text, with what that leaves out.
struct SheetText {
  std::string text;
  std::string hidden = {};  ///< part of the text; empty where everything shows
};

SheetText numbers_text(const Sheet& sheet, const std::string& whole, const WalkLook& look) {
  GridLook style{.width = look.width,
                 .digits = look.digits,
                 .colour = look.colour && look.picture != Picture::numbers};
  if (!sheet.before.empty()) {
    style.mark = [&](std::size_t row, std::size_t column) {
      const std::size_t i = row * sheet.columns + column;
      return differs(sheet.values[i], sheet.before[i]) ? Mark::changed : Mark::none;
    };
  }
  const Grid lines = grid(sheet.rows, sheet.columns, sheet.values,
                          {sheet.labels.rows, sheet.labels.columns}, style);
  std::string hidden = hidden_text(lines, whole);
  if (!hidden.empty()) hidden = indented(hidden, look);
  return {lines.text + hidden, hidden};
}

// The dots by themselves; empty where there are none, or no room for them.
std::string dots_text(const Dots& dotted, const std::vector<std::string>& row_labels,
                      const WalkLook& look) {
  if (dotted.rows.empty()) return {};
  const std::string text = dots_below(dotted, row_labels);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (width(std::string_view(text).substr(at, end - at)) > look.width) return {};
    at = end + 1;
  }
  return text;
}

// Numbers, or where the reader wants dots and they fit, dots.
SheetText matrix_text(const Sheet& sheet, const std::string& whole, const WalkLook& look) {
  if (look.picture != Picture::dots) return numbers_text(sheet, whole, look);
  const Dots dotted = signed_dots(sheet.rows, sheet.columns, sheet.values, sheet.labels.columns);
  const std::string alone = dots_text(dotted, sheet.labels.rows, look);
  return alone.empty() ? numbers_text(sheet, whole, look) : SheetText{alone};
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
SheetText weights_text(const Sheet& sheet, const std::string& whole, const WalkLook& look) {
  const Dots dotted = dots(sheet.rows, sheet.columns, sheet.values, sheet.labels.columns);
  const std::string below = dots_text(dotted, sheet.labels.rows, look);
  if (look.picture == Picture::dots && !below.empty()) return {below};
  SheetText numbers = numbers_text(sheet, whole, look);
  if (dotted.rows.empty() || look.picture == Picture::numbers) return numbers;
  const std::string beside =
      dots_beside(numbers.text, without_colour(numbers.text), dotted, look.width);
  numbers.text = beside.empty() ? numbers.text + below : beside;
  return numbers;
}

// The ids of a batch: each sentence under its own words.
std::string sentences_text(const Exhibit& exhibit, const WalkLook& look) {
  const Tensor& ids = exhibit.tensor;
  const std::size_t columns = ids.columns();
  std::string text;
  for (std::size_t b = 0; b < ids.rows(); ++b) {
    MatrixLabels labels{{fmt::format("batch {}", b + 1)}, {}};
    for (std::size_t i = 0; i < columns; ++i) {
      labels.columns.emplace_back(ids.axes.back().label(i, b));
    }
    const std::span<const double> row = std::span(ids.values).subspan(b * columns, columns);
    text += matrix_text({1, columns, row, {}, std::move(labels)}, exhibit.whole, look).text;
  }
  return text;
}

// What is hidden of every matrix alike is said once, below the last.
void say_once(std::string& text, const std::string& remark) {
  if (remark.empty()) return;
  for (std::size_t at = text.find(remark); at != text.rfind(remark); at = text.find(remark)) {
    text.erase(at, remark.size());
  }
}

// Those of the head that is looked at; where there are no heads, or all are wanted, all of them.
std::vector<std::size_t> wanted_matrices(const Tensor& tensor, const WalkLook& look) {
  std::vector<std::size_t> wanted;
  for (std::size_t m = 0; m < tensor.matrices(); ++m) {
    const std::optional<std::size_t> head = head_of(tensor, m);
    if (!look.head || !head || head == look.head) wanted.push_back(m);
  }
  return wanted;
}

std::string tensor_text(const Exhibit& exhibit, const Trace& trace, const WalkLook& look,
                        decltype(&matrix_text) one_matrix = matrix_text) {
  const Tensor& tensor = exhibit.tensor;
  if (tensor.rank() == 2 && tensor.axes[1].labels.size() > tensor.columns()) {
    return sentences_text(exhibit, look);
  }
  // A large matrix is copied only where it must be turned over.
  const bool turned = is_turned(tensor, trace.convention);
  const Tensor over = turned ? transposed(tensor) : Tensor{};
  const Tensor over_before = turned && exhibit.before ? transposed(*exhibit.before) : Tensor{};
  const Tensor& shown = turned ? over : tensor;
  const Tensor* before = turned && exhibit.before ? &over_before : exhibit.before;
  const std::vector<std::size_t> wanted = wanted_matrices(tensor, look);
  const std::size_t count = wanted.size();
  std::string text, hidden;
  for (std::size_t w = 0; w < count; ++w) {
    if (count > most_matrices && w == first_matrices) {
      text += indented(fmt::format("… {} more, {} to {}; all of them: {}",
                                   count - first_matrices - 1, matrix_name(tensor, wanted[w]),
                                   matrix_name(tensor, wanted[count - 2]), exhibit.whole),
                       look);
      w = count - 1;
    }
    const std::size_t m = wanted[w];
    if (tensor.matrices() > 1) text += "  " + matrix_name(tensor, m) + "\n";
    SheetText sheet = one_matrix({shown.rows(), shown.columns(), shown.matrix(m),
                                  before ? before->matrix(m) : std::span<const double>(),
                                  own_labels(tensor, m, trace.convention)},
                                 exhibit.whole, look);
    text += sheet.text;
    hidden = std::move(sheet.hidden);
  }
  say_once(text, hidden);
  return text;
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

// The result; one that shares out weights in dots as well, with what they mean once below.
std::string output_text(const Lesson& lesson, const Trace& trace, const Step& step,
                        const WalkLook& look) {
  const Exhibit exhibit = exhibit_of(lesson, trace, step.name, look);
  const bool weights = step.operation->makes_weights;
  const std::string text = tensor_text(exhibit, trace, look, weights ? weights_text : matrix_text);
  const bool has_dots = text.find("│") != std::string::npos;  // the edges of their rows
  if (!has_dots) return text;
  return text + indented(std::string(weights ? dots_legend() : signed_dots_legend()), look);
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
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += fmt::format("  on the way: {}\n", parts[i].title);
    text += tensor_text({parts[i].tensor, whole, before_of(parts[i], before, i)}, trace, look);
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
  text += bold(title, look) + "\n" + output_text(lesson, trace, step, look);
  if (look.began) text += changed_lines(step, look);
  return text + "\n" + worked_cell_text(lesson, trace, step, look);
}

// On one line where there is room.
std::string step_heading(const Lesson& lesson, const Step& step, const WalkLook& look) {
  const std::string name = fmt::format("{}/{}  {}", step.number, lesson.texts.size(), step.name);
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
  std::string text = step_heading(lesson, step, look) + "\n";
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
