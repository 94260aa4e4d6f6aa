#include "terminal/walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "exposition/arithmetic.hpp"
#include "exposition/exposition.hpp"
#include "exposition/selection.hpp"
#include "tensor/compare.hpp"
#include "tensor/parallel.hpp"
#include "terminal/grid.hpp"
#include "terminal/lines.hpp"
#include "terminal/pattern_glyphs.hpp"
#include "text/escape.hpp"
#include "text/number.hpp"
#include "text/strings.hpp"
#include "text/wrapping.hpp"
#include "trace/labels.hpp"
#include "trace/reference.hpp"

namespace qkv::inline terminal {
namespace {

constexpr std::size_t most_terms = 9;
constexpr std::size_t most_names = 4;
// Arithmetic that takes more lines of the screen than this, a stage or all, is left to `explain`.
constexpr std::size_t longest_stage = 6;
// So are names that would keep the numbers off for more lines than this.
constexpr std::size_t longest_names = 4;
constexpr std::size_t longest_cell = 14;

std::vector<std::string> arithmetic_lines(const CellArithmetic& worked, std::size_t k,
                                          const WalkLook& look) {
  return wrapped_arithmetic(
      visible(fmt::format("{} = {}", k == 0 ? worked.cell : "", worked.lines[k])), look.width - 6);
}

// Of arithmetic that is too long to read the first stages go, all but the names'. Whether any did.
bool leave_out_long_stages(std::vector<std::vector<std::string>>& stages) {
  const auto length = [&] {
    std::size_t lines = 0;
    for (const auto& stage : stages) lines += stage.size();
    return lines;
  };
  const std::size_t before = length();
  for (std::size_t k = 1; k < stages.size(); ++k) {
    if (stages[k].size() > longest_stage || length() > longest_cell) stages[k].clear();
  }
  return length() != before;
}

/// A cell of a step worked out line by line, below "One cell:". The line of names is cut shorter
/// where it is long, and what is too long to read is left to the command that explains a cell of
/// `lesson`. Empty where there is nothing to work out.
std::string worked_cell_text(const std::string& lesson, const Trace& trace,
                             const CellReference& cell, const WalkLook& look) {
  const CellArithmetic worked =
      arithmetic_of(trace, cell, {.digits = look.digits, .most_terms = most_terms});
  if (worked.lines.size() < 2) return {};
  std::vector<std::vector<std::string>> stages;
  for (std::size_t k = 0; k < worked.lines.size(); ++k) {
    stages.push_back(arithmetic_lines(worked, k, look));
    if (k == 0 && stages[k].size() > longest_names) {
      const ArithmeticLook names{.digits = look.digits, .most_terms = most_names};
      stages[k] = arithmetic_lines(arithmetic_of(trace, cell, names), k, look);
    }
  }
  const bool unnamed = stages[0].size() > longest_names;
  if (unnamed) stages[0] = {visible(worked.cell)};
  const bool left_out = leave_out_long_stages(stages);
  std::string text = "  One cell:\n";
  for (const std::vector<std::string>& lines : stages) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      text += (i == 0 ? "    " : "      ") + lines[i] + "\n";
    }
  }
  if (left_out || unnamed) {
    const std::string command =
        fmt::format("qkv explain {} {}", visible(lesson), shell_word(visible(worked.cell)));
    const std::string way =
        look.reader == Reader::has_keys ? "press e and write the cell" : command;
    const std::string where = left_out ? "Longer lines are left out; all of them: " + way
                                       : "its cells by name: " + command;
    for (const std::string& line : wrapped(where, look.width - 2)) text += "  " + line + "\n";
  }
  return text + "\n";
}

// Of a tensor with more matrices than this, the walk shows the first two and the last.
constexpr std::size_t most_matrices = 4;
constexpr std::size_t few_matrices = 3;

std::string left_out(const Grid& shown, const std::string& whole) {
  const std::string rows = hidden_text("row", shown.rows, "–");
  const std::string columns = hidden_text("column", shown.columns, "–");
  if (rows.empty() && columns.empty()) return {};
  const std::string_view both = rows.empty() || columns.empty() ? "" : " and ";
  return fmt::format("{}{}{} not shown; all of it: {}", rows, both, columns, whole);
}

// One row-major matrix of an exhibit as people see it: laid out as `shown` is.
struct ShownMatrix {
  std::size_t rows, columns;
  const Tensor& tensor;
  std::size_t first;               ///< the place of its first number in the tensor
  const Tensor* before = nullptr;  ///< none where nothing has changed
  MatrixLabels labels;

  std::span<const double> row(std::size_t row) const {
    return tensor.values.part(first + row * columns, columns);
  }
  double before_at(std::size_t row, std::size_t column) const {
    return before->values[first + row * columns + column];
  }
  /// Nothing where there are more than a lesson shows: they need not be there.
  std::span<const double> all() const {
    const std::size_t count = rows * columns;
    return count > teaching_numbers ? std::span<const double>() : tensor.values.part(first, count);
  }
};

// It as text, with what that leaves out.
struct MatrixText {
  std::string text;
  std::string hidden = {};  ///< part of the text; empty where everything shows
};

MatrixText numbers_text(const ShownMatrix& sheet, const std::string& whole, const WalkLook& look) {
  GridLook style{.width = look.width,
                 .digits = look.digits,
                 .colour = look.colour && look.picture != Picture::numbers};
  if (sheet.before) {
    style.mark = [&](std::size_t row, std::size_t column) {
      return differs(sheet.row(row)[column], sheet.before_at(row, column)) ? Mark::changed
                                                                           : Mark::none;
    };
  }
  const RowAt row_at = [&](std::size_t row) { return sheet.row(row); };
  const Grid lines =
      grid(sheet.rows, sheet.columns, row_at, {sheet.labels.rows, sheet.labels.columns}, style);
  std::string hidden = left_out(lines, whole);
  if (!hidden.empty()) hidden = indented(hidden, look);
  return {lines.text + hidden, hidden};
}

// The dots by themselves; empty where there are none, or no room for them.
std::string dots_text(const Dots& dotted, const std::vector<std::string>& row_labels,
                      const WalkLook& look) {
  if (dotted.rows.empty()) return {};
  const std::string text = dots_below(dotted, row_labels);
  if (widest_of(lines_of(text)) > look.width) return {};
  return text;
}

// Numbers, or where the reader wants dots and they fit, dots.
MatrixText matrix_text(const ShownMatrix& sheet, const std::string& whole, const WalkLook& look) {
  if (look.picture != Picture::dots) return numbers_text(sheet, whole, look);
  const Dots dotted = signed_dots(sheet.rows, sheet.columns, sheet.all(), sheet.labels.columns);
  const std::string alone = dots_text(dotted, sheet.labels.rows, look);
  return alone.empty() ? numbers_text(sheet, whole, look) : MatrixText{alone};
}

// A matrix of weights: its numbers, and its dots on the right of them, or below.
MatrixText weights_text(const ShownMatrix& sheet, const std::string& whole, const WalkLook& look) {
  const Dots dotted = dots(sheet.rows, sheet.columns, sheet.all(), sheet.labels.columns);
  const std::string below = dots_text(dotted, sheet.labels.rows, look);
  if (look.picture == Picture::dots && !below.empty()) return {below};
  MatrixText numbers = numbers_text(sheet, whole, look);
  if (dotted.rows.empty() || look.picture == Picture::numbers) return numbers;
  const std::string beside = dots_beside(numbers.text, dotted, look.width);
  numbers.text = beside.empty() ? numbers.text + below : beside;
  return numbers;
}

// The ids of a batch: each sentence under its own words.
std::string sentences_text(const Tensor& ids, const std::string& whole, const WalkLook& look) {
  const std::size_t columns = ids.columns();
  std::string text;
  for (std::size_t b = 0; b < ids.rows(); ++b) {
    const ShownMatrix sheet{.rows = 1,
                            .columns = columns,
                            .tensor = ids,
                            .first = b * columns,
                            .labels = labels_of_sentence(ids, b)};
    text += matrix_text(sheet, whole, look).text;
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
std::vector<std::size_t> wanted_matrices(const Tensor& tensor, std::optional<std::size_t> wish) {
  std::vector<std::size_t> wanted;
  for (std::size_t m = 0; m < tensor.matrices(); ++m) {
    const std::optional<std::size_t> head = head_of(tensor, m);
    if (!wish || !head || head == wish) wanted.push_back(m);
  }
  return wanted;
}

std::string text_of(const Exhibit& exhibit, Convention convention, const std::string& whole,
                    const WalkLook& look, decltype(&matrix_text) one_matrix) {
  const Tensor& tensor = *exhibit.tensor;
  if (words_differ_by_row(tensor)) return sentences_text(tensor, whole, look);
  // A large matrix is copied only where it must be turned over.
  const bool turned = is_turned(tensor, convention);
  const Tensor over = turned ? transposed(tensor) : Tensor{};
  const Tensor over_before = turned && exhibit.before ? transposed(*exhibit.before) : Tensor{};
  const Tensor& shown = turned ? over : tensor;
  const Tensor* before = turned && exhibit.before ? &over_before : exhibit.before.get();
  const std::vector<std::size_t> wanted = wanted_matrices(tensor, exhibit.head);
  const std::size_t count = wanted.size();
  const Selection selection = first_and_last(count > most_matrices ? few_matrices : count, count);
  std::string text, hidden;
  for (std::size_t place = 0; place < selection.shown(); ++place) {
    if (selection.starts_after_hidden(place)) {
      text += indented(fmt::format("… {} more, {} to {}; all of them: {}", selection.hidden(),
                                   matrix_name(tensor, wanted[selection.first_hidden() - 1]),
                                   matrix_name(tensor, wanted[count - 2]), whole),
                       look);
    }
    const std::size_t m = wanted[selection[place]];
    if (tensor.matrices() > 1) text += "  " + matrix_name(tensor, m) + "\n";
    MatrixText sheet = one_matrix({.rows = shown.rows(),
                                   .columns = shown.columns(),
                                   .tensor = shown,
                                   .first = m * shown.rows() * shown.columns(),
                                   .before = before,
                                   .labels = own_labels(tensor, m, convention)},
                                  whole, look);
    text += sheet.text;
    hidden = std::move(sheet.hidden);
  }
  say_once(text, hidden);
  return text;
}

/// An exhibit's matrices, each under its name, as far as there is room; of more than four the first
/// two and the last. `whole` says how to see them whole. A step's weights have dots as well, and
/// what the dots mean stands below.
std::string exhibit_text(const Exhibit& exhibit, Convention convention, const std::string& whole,
                         const WalkLook& look) {
  const bool is_result = exhibit.role == Exhibit::Role::result;
  const bool weights = is_result && exhibit.step->operation->makes_weights;
  const std::string text =
      text_of(exhibit, convention, whole, look, weights ? weights_text : matrix_text);
  const bool has_dots = text.find("│") != std::string::npos;  // the edges of their rows
  if (!is_result || !has_dots) return text;
  return text + indented(std::string(weights ? dots_legend() : signed_dots_legend()), look);
}

constexpr std::size_t widest_prose = 76;

std::string bold(const std::string& text, const WalkLook& look) {
  return look.colour ? "\x1b[1m" + text + "\x1b[0m" : text;
}

// Lines two blanks further in.
std::string inset(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line.empty() ? "\n" : "  " + line + "\n";
  return text;
}

// Writes what is told, each piece with the blank line that parts it from the next.
class WalkWriter {
 public:
  WalkWriter(const std::string& lesson, const Trace* trace, const WalkLook& look)
      : lesson_(lesson), trace_(trace), look_(look) {}

  std::string operator()(const LessonTitle& title) const {
    std::string text;
    for (const std::string& line : wrapped(title.text, look_.width)) {
      text += bold(line, look_) + "\n";
    }
    return text;
  }

  // On one line where there is room.
  std::string operator()(const StepTitle& step) const {
    const std::string name = fmt::format("{}/{}  {}", step.number, step.of, step.name);
    const std::string title = visible(step.title);
    const std::string line = bold(name, look_);
    if (width(name) + 2 + width(title) <= look_.width)
      return fmt::format("{}  {}\n\n", line, title);
    return line + "\n" + indented(title, look_) + "\n";
  }

  std::string operator()(const Words& words) const {
    const std::string text = indented(introduced(words), look_);
    switch (words.role) {
      case Words::Role::said: return text + "\n";
      case Words::Role::changed:
      case Words::Role::questions: return "\n" + text;
      default: return text;
    }
  }

  std::string operator()(const Formula& formula) const {
    return indented(formula_text(formula), look_) + "\n";
  }

  std::string operator()(const Exhibit& exhibit) const {
    const std::string matrices =
        exhibit_text(exhibit, trace_->convention, way_to_whole(exhibit), look_);
    switch (exhibit.role) {
      case Exhibit::Role::given:
        return fmt::format("  given: {} ({})\n{}\n", exhibit.title, exhibit.shape, matrices);
      case Exhibit::Role::on_the_way:
        return fmt::format("  on the way: {}\n{}\n", exhibit.title, matrices);
      case Exhibit::Role::result: break;
    }
    const std::string title = fmt::format("  {} ({})", exhibit.title, exhibit.shape);
    return bold(title, look_) + "\n" + matrices + way_to(*exhibit.step) + (look_.began ? "" : "\n");
  }

  std::string operator()(const UnshownGivens& givens) const {
    return indented("given, not shown: " + givens.names, look_) + "\n";
  }

  std::string operator()(const Changes& changes) const {
    return inset(wrapped_arithmetic(visible(changes.text), look_.width - 2)) + "\n";
  }

  std::string operator()(const WorkedCell& worked) const {
    return worked_cell_text(lesson_, *trace_, worked.cell, look_);
  }

 private:
  // The command that shows what lies on the way to the result, where something does.
  std::string way_to(const Step& step) const {
    if (look_.way || !step.operation->parts) return {};
    return indented(fmt::format("the numbers on the way to it: qkv run {} --step {} --way",
                                visible(lesson_), step.name),
                    look_);
  }

  // How to see a matrix whole: the command, or the key.
  std::string way_to_whole(const Exhibit& exhibit) const {
    if (look_.reader == Reader::has_keys) {
      return exhibit.step ? "press e, then the arrows and Tab" : "press x to write it to a file";
    }
    const std::string lesson = visible(lesson_);
    return exhibit.step ? fmt::format("qkv export {} --step {} -o -", lesson, exhibit.step->name)
                        : fmt::format("qkv export {} -o DIR", lesson);
  }

  const std::string& lesson_;
  const Trace* trace_;
  const WalkLook& look_;
};

// What comes last has no blank line below it.
std::string ended(std::string text) {
  if (text.ends_with("\n\n")) text.pop_back();
  return text;
}

bool has_role(const Told& told, Words::Role role) {
  const Words* words = std::get_if<Words>(&told);
  return words && words->role == role;
}

}  // namespace

std::string indented(const std::vector<Passage>& passages, const WalkLook& look) {
  return inset(wrapped(passages, std::min(look.width, widest_prose + 2) - 2));
}

std::string indented(std::string_view prose, const WalkLook& look) {
  return indented(passages_of(prose), look);
}

std::string worked_text(const CellArithmetic& worked, const WalkLook& look, std::size_t indent,
                        const std::string& names_at) {
  constexpr std::size_t few_lines = 3;
  const std::size_t room = std::max(look.width, indent + 12) - indent;
  const auto below = [&](const std::vector<std::string>& lines, std::size_t further) {
    std::string text;
    std::size_t in = indent;
    for (const std::string& line : lines) {
      text += std::string(in, ' ') + line + "\n";
      in = indent + further;
    }
    return text;
  };
  std::string text;
  std::string start = worked.cell;
  bool named = true;
  for (std::size_t k = 0; k < worked.lines.size(); ++k) {
    const std::vector<std::string> lines =
        wrapped_arithmetic(visible(fmt::format("{} = {}", start, worked.lines[k])), room - 2);
    named = named &&
            !(k == 0 && worked.lines.size() > 1 && !names_at.empty() && lines.size() > few_lines);
    if (k == 0 && !named) {
      text += below({visible(worked.cell)}, 2);
    } else {
      text += below(lines, 2);
    }
    start.clear();
  }
  if (!worked.remark.empty()) text += below(wrapped(worked.remark, room), 0);
  if (!named) text += below(wrapped("its cells by name: " + names_at, room), 0);
  return text;
}

std::string lesson_heading(const Lesson& lesson, const WalkLook& look) {
  return written(opening_of(lesson), WalkWriter(lesson.asked, nullptr, look));
}

std::string step_text(const Lesson& lesson, const Trace& trace, const Step& step,
                      const WalkLook& look) {
  const std::span<const Topic> topics =
      look.way ? std::span<const Topic>(whole_walk) : std::span<const Topic>(short_walk);
  const Exposition told =
      told_of(lesson, trace, step,
              {.topics = topics, .digits = look.digits, .head = look.head, .began = look.began});
  const WalkWriter writer(lesson.asked, &trace, look);
  // What an exponent in the numbers means is said before the words about them.
  const auto asides = std::find_if(told.begin(), told.end(), [](const Told& piece) {
    return has_role(piece, Words::Role::notice) || has_role(piece, Words::Role::questions);
  });
  const bool notices = asides != told.end() && has_role(*asides, Words::Role::notice);
  const std::string numbers = written({told.begin(), asides}, writer);
  const std::string words = written({asides, told.end()}, writer);
  const std::string legend =
      exponent_legend(numbers + (notices ? std::visit(writer, *asides) : std::string()));
  if (legend.empty()) return ended(numbers + words);
  return ended(numbers + indented(legend, look) + (notices ? "\n" : "") + words);
}

}  // namespace qkv::inline terminal
