#include "terminal/walk.hpp"

#include "terminal/grid.hpp"

namespace qkv::inline terminal {
namespace {

constexpr std::size_t max_terms = 9;
constexpr std::size_t max_names = 4;
// Arithmetic of more lines than this, per stage or in total, is left to `explain`.
constexpr std::size_t max_stage_width = 6;
// Cell names of more lines than this are left out, too.
constexpr std::size_t max_name_lines = 4;
constexpr std::size_t max_cell_width = 14;

// Returns the last blank in the first `room` bytes where a command may be broken, else the first
// one after them: outside of quotes, and not between an option and its value. `npos` without any.
std::size_t last_break(std::string_view command, std::size_t room) {
  std::size_t last = command.npos;
  bool is_quoted = false, has_escapes = true;  // as outside of quotes and in $'…'
  for (std::size_t i = 0; i < (last == command.npos ? command.size() : room); ++i) {
    if (command[i] == '\\' && has_escapes) {
      ++i;
    } else if (command[i] == '\'') {
      is_quoted = !is_quoted;
      has_escapes = !is_quoted || (i > 0 && command[i - 1] == '$');
    }
    if (i >= command.size() || command[i] != ' ' || is_quoted) continue;
    const std::string_view word = command.substr(command.rfind(' ', i - 1) + 1);
    if (!word.starts_with("--")) last = i;
  }
  return last;
}

// The command behind its lead, or on lines of its own, so that it can be copied.
std::string with_command(std::string_view lead, std::string command, const WalkStyle& look) {
  const bool fits = 2 + width(lead) + 1 + width(command) <= look.width;
  const std::string margin(width(command) + 6 > look.width ? 2 : 6, ' ');
  std::string lines;
  for (std::size_t indent = 2; width(command) + indent > look.width; indent = 6) {
    const std::size_t cut = last_break(command, look.width - std::min(look.width, indent + 2));
    if (cut == command.npos) break;
    lines += command.substr(0, cut) + " \\\n      ";
    command.erase(0, cut + 1);
  }
  return fmt::format("  {}{}{}{}\n", lead, fits ? " " : "\n" + margin, lines, command);
}

std::vector<std::string> arithmetic_lines(const CellArithmetic& worked, std::size_t k,
                                          std::size_t columns) {
  return wrapped_arithmetic(sanitise(fmt::format("{} {} {}", k == 0 ? worked.cell : "",
                                                 worked.signs[k], worked.lines[k])),
                            columns);
}

// Drops the first stages of long arithmetic, except the names; true if it dropped any.
bool drop_long_stages(std::vector<std::vector<std::string>>& stages) {
  const auto length = [&] {
    std::size_t lines = 0;
    for (const auto& stage : stages) lines += stage.size();
    return lines;
  };
  const std::size_t before = length();
  for (std::size_t k = 1; k < stages.size(); ++k) {
    if (stages[k].size() > max_stage_width || length() > max_cell_width) stages[k].clear();
  }
  return length() != before;
}

/// A step's cell with its arithmetic, below "One cell:". Long lines of names are shortened, and
/// what is too long refers to the command that explains a cell of `lesson`. Empty if the cell has
/// no arithmetic.
std::string worked_cell_text(const std::string& lesson, const Trace& trace,
                             const CellReference& cell, const WalkStyle& look) {
  const CellArithmetic worked =
      arithmetic_of(trace, cell, {.digits = look.digits, .max_terms = max_terms});
  if (worked.lines.size() < 2 && worked.remark.empty()) return {};
  std::vector<std::vector<std::string>> stages;
  for (std::size_t k = 0; k < worked.lines.size(); ++k) {
    stages.push_back(arithmetic_lines(worked, k, look.width - 6));
    if (k == 0 && stages[k].size() > max_name_lines) {
      const ArithmeticStyle names{.digits = look.digits, .max_terms = max_names};
      stages[k] = arithmetic_lines(arithmetic_of(trace, cell, names), k, look.width - 6);
    }
  }
  const bool unnamed = stages[0].size() > max_name_lines;
  if (unnamed) stages[0] = {sanitise(worked.cell)};
  const bool left_out = drop_long_stages(stages);
  std::string text = "  One cell:\n";
  for (const std::vector<std::string>& lines : stages) text += hanging_lines("    ", lines, 6);
  if (left_out || unnamed) {
    const std::string command =
        fmt::format("qkv explain {} {}", sanitise(lesson), shell_word(sanitise(worked.cell)));
    const std::string intermediates =
        look.reader == InputMode::keys ? "press e and write the cell" : command;
    text += left_out ? with_command("Longer lines are left out; all of them:", intermediates, look)
                     : with_command("The same with names:", command, look);
  }
  if (!worked.remark.empty()) text += indented_lines(wrapped(worked.remark, look.width - 4), 4);
  return text + "\n";
}

// If a tensor has more matrices than this, the walk shows the first two and the last.
constexpr std::size_t max_matrices = 4;
constexpr std::size_t shown_matrices = 3;

std::string left_out(const Grid& shown, const std::string& whole, const WalkStyle& look) {
  const std::string rows = hidden_text("row", shown.rows, "–");
  const std::string columns = hidden_text("column", shown.columns, "–");
  if (rows.empty() && columns.empty()) return {};
  const std::string_view both = rows.empty() || columns.empty() ? "" : " and ";
  return with_command(fmt::format("{}{}{} not shown; all of it:", rows, both, columns), whole,
                      look);
}

// One row-major matrix of a block, in the layout of `shown`.
struct ShownMatrix {
  std::size_t rows;
  const Tensor& tensor;
  std::size_t first;               ///< the index of its first number in the tensor
  const Tensor* before = nullptr;  ///< nullptr if nothing has changed
  MatrixLabels labels;

  std::size_t columns() const { return tensor.columns(); }
  std::span<const double> row(std::size_t row) const {
    return tensor.values.part(first + row * columns(), columns());
  }
  /// Empty for a large matrix: not all of its numbers may exist.
  std::span<const double> all() const {
    const std::size_t count = rows * columns();
    return count > small_tensor_limit ? std::span<const double>()
                                      : tensor.values.part(first, count);
  }
};

// Its text, and a note on what is hidden.
struct MatrixText {
  std::string text;
  std::string hidden = {};  ///< part of the text; empty if everything is shown
};

MatrixText numbers_text(const ShownMatrix& sheet, const std::string& whole, const WalkStyle& look) {
  GridStyle style{.width = look.width,
                  .digits = look.digits,
                  .colour = look.colour && look.picture != Picture::numbers};
  if (sheet.before) {
    style.highlight = [&](std::size_t row, std::size_t column) {
      const double before = sheet.before->values[sheet.first + row * sheet.columns() + column];
      return differs(sheet.row(row)[column], before) ? Highlight::changed : Highlight::none;
    };
  }
  const RowAt row_at = [&](std::size_t row) { return sheet.row(row); };
  const Grid lines = grid(sheet.rows, sheet.columns(), row_at, sheet.labels, style);
  const std::string hidden = left_out(lines, whole, look);
  return {lines.text + hidden, hidden};
}

// Whether a matrix has attention weights, which have glyphs of their own.
enum class Content { numbers, weights };

// Numbers, and for weights glyphs beside or below them; or glyphs alone, if requested and they fit.
MatrixText matrix_text(const ShownMatrix& sheet, const std::string& whole, const WalkStyle& look,
                       Content content) {
  const bool weights = content == Content::weights;
  if (!weights && look.picture != Picture::glyphs) return numbers_text(sheet, whole, look);
  const PatternGlyphs pattern_glyphs = (weights ? glyphs : signed_glyphs)(
      sheet.rows, sheet.columns(), sheet.all(), sheet.labels.columns);
  std::string below;  // empty if there are no glyphs, or if they do not fit
  if (!pattern_glyphs.rows.empty()) below = glyphs_below(pattern_glyphs, sheet.labels.rows);
  if (max_width(lines_of(below)) > look.width) below.clear();
  if (look.picture == Picture::glyphs && !below.empty()) return {below};
  MatrixText numbers = numbers_text(sheet, whole, look);
  if (!weights || pattern_glyphs.rows.empty() || look.picture == Picture::numbers) return numbers;
  const std::string beside = glyphs_beside(numbers.text, pattern_glyphs, look.width);
  numbers.text = beside.empty() ? numbers.text + below : beside;
  return numbers;
}

// The ids of a batch: each sentence under its own tokens.
std::string sentences_text(const Tensor& ids, const std::string& whole, const WalkStyle& look) {
  std::string text;
  for (std::size_t b = 0; b < ids.rows(); ++b) {
    const ShownMatrix sheet{
        .rows = 1, .tensor = ids, .first = b * ids.columns(), .labels = labels_of_sentence(ids, b)};
    text += matrix_text(sheet, whole, look, Content::numbers).text;
  }
  return text;
}

// If all matrices hide the same part, the note stands once, below the last.
void keep_last_occurrence(std::string& text, const std::string& remark) {
  if (remark.empty()) return;
  for (std::size_t at = text.find(remark); at != text.rfind(remark); at = text.find(remark)) {
    text.erase(at, remark.size());
  }
}

/// A block's matrices with their names, as far as there is room; of more than four the first two
/// and the last. `whole` is the hint for seeing everything.
std::string matrix_block_text(const MatrixBlock& matrix_block, TokenLayout token_layout,
                              const std::string& whole, const WalkStyle& look, Content content) {
  const Tensor& tensor = *matrix_block.tensor;
  if (words_differ_by_row(tensor)) return sentences_text(tensor, whole, look);
  const Tensor shown = as_shown(tensor, token_layout);
  const Tensor before =
      matrix_block.before ? as_shown(*matrix_block.before, token_layout) : Tensor{};
  // Those of the chosen head; all if there are no heads or none is chosen.
  const auto wanted = places_where(tensor.matrices(), [&](std::size_t m) {
    const std::optional<std::size_t> head = head_of(tensor, m);
    return !matrix_block.head || !head || head == matrix_block.head;
  });
  const std::size_t count = wanted.size();
  const Selection selection = first_and_last(count > max_matrices ? shown_matrices : count, count);
  std::string text, hidden;
  for (std::size_t place = 0; place < selection.shown(); ++place) {
    if (selection.follows_gap(place)) {
      text += with_command(fmt::format("… {} more, {} to {}; all of them:", selection.hidden(),
                                       matrix_name(tensor, wanted[selection.first_hidden() - 1]),
                                       matrix_name(tensor, wanted[count - 2])),
                           whole, look);
    }
    const std::size_t m = wanted[selection[place]];
    if (tensor.matrices() > 1) text += "  " + matrix_name(tensor, m) + "\n";
    MatrixText sheet = matrix_text({.rows = shown.rows(),
                                    .tensor = shown,
                                    .first = m * shown.rows() * shown.columns(),
                                    .before = matrix_block.before ? &before : nullptr,
                                    .labels = own_labels(tensor, m, token_layout)},
                                   whole, look, content);
    text += sheet.text;
    hidden = std::move(sheet.hidden);
  }
  keep_last_occurrence(text, hidden);
  return text;
}

constexpr std::size_t max_prose_width = 76;

std::string bold(const std::string& text, const WalkStyle& look) {
  return look.colour ? "\x1b[1m" + text + "\x1b[0m" : text;
}

// Writes blocks, each with a blank line before the next.
struct WalkWriter {
  const std::string& asked;  // how a command names the lesson
  const Trace* trace;
  const WalkStyle& look;

  std::string operator()(const LessonTitle& title) const {
    std::string text;
    for (const std::string& line : wrapped(title.text, look.width)) text += bold(line, look) + "\n";
    return text;
  }

  // On one line if it fits.
  std::string operator()(const StepTitle& step) const {
    const std::string name = fmt::format("{}/{}  {}", step.number, step.of, step.name);
    const std::string title = sanitise(step.title);
    const std::string line = bold(name, look);
    const bool fits = width(name) + 2 + width(title) <= look.width;
    const std::string titled =
        fits ? fmt::format("{}  {}\n", line, title) : line + "\n" + indented(title, look);
    const std::string place =
        look.map ? map_line(*look.map, step.name, look.width - 2) : std::string();
    return titled + (place.empty() ? "" : "  " + place + "\n") + "\n";
  }

  std::string operator()(const ProseBlock& words) const {
    if (words.role == ProseBlock::Role::changes) {
      const std::string changes = words.passages.front().on_one_line();
      return indented_lines(wrapped_arithmetic(changes, look.width - 2)) + "\n";
    }
    const std::string text = indented(with_introduction(words), look);
    switch (words.role) {
      case ProseBlock::Role::explanation: return text + "\n";
      case ProseBlock::Role::changed:
      case ProseBlock::Role::questions:
      case ProseBlock::Role::answers: return "\n" + text;
      default: return text;
    }
  }

  std::string operator()(const Formula& formula) const {
    return indented(formula_text(formula), look) + "\n";
  }

  // A step's weights have glyphs, too, and their legend stands below.
  std::string operator()(const MatrixBlock& matrix_block) const {
    const bool weights = matrix_block.role == MatrixBlock::Role::result &&
                         matrix_block.step->operation->makes_weights;
    const std::string matrices =
        matrix_block_text(matrix_block, trace->token_layout, full_matrix_hint(matrix_block), look,
                          weights ? Content::weights : Content::numbers);
    switch (matrix_block.role) {
      case MatrixBlock::Role::given:
        return fmt::format("  given: {} ({})\n{}\n", matrix_block.title, matrix_block.shape,
                           matrices);
      case MatrixBlock::Role::intermediate:
        return fmt::format("  intermediate: {}\n{}\n", matrix_block.title, matrices);
      case MatrixBlock::Role::result: break;
    }
    const std::string title = fmt::format("  {} ({})", matrix_block.title, matrix_block.shape);
    const bool has_glyphs = matrices.find("│") != std::string::npos;  // the edges of their rows
    const std::string_view legend = weights ? glyph_legend : signed_glyph_legend;
    return bold(title, look) + "\n" + matrices + (has_glyphs ? indented(legend, look) : "") +
           intermediates_hint(*matrix_block.step) + (look.baseline ? "" : "\n");
  }

  std::string operator()(const HiddenGivens& givens) const {
    return indented("given, not shown: " + givens.names, look) + "\n";
  }

  std::string operator()(const WorkedCell& worked) const {
    return worked_cell_text(asked, *trace, worked.cell, look);
  }

  // The command that shows the step's intermediates, if there are any.
  std::string intermediates_hint(const Step& step) const {
    if (look.intermediates || !step.operation->intermediates) return {};
    return with_command(
        "The steps in between:",
        fmt::format("qkv run {} --step {} --intermediates", sanitise(asked), step.name), look);
  }

  // How to see the whole matrix: the command, or the key.
  std::string full_matrix_hint(const MatrixBlock& matrix_block) const {
    if (look.reader == InputMode::keys) return "press x to write it to a file";
    const std::string lesson = sanitise(asked);
    return matrix_block.step
               ? fmt::format("qkv export {} --step {} -o -", lesson, matrix_block.step->name)
               : fmt::format("qkv export {} -o DIR", lesson);
  }
};

bool is_prose_of(const Block& blocks, ProseBlock::Role role) {
  const ProseBlock* words = std::get_if<ProseBlock>(&blocks);
  return words && words->role == role;
}

}  // namespace

std::string indented(const std::vector<Passage>& passages, const WalkStyle& look) {
  return indented_lines(wrapped(passages, std::min(look.width, max_prose_width + 2) - 2));
}

std::string indented(std::string_view prose, const WalkStyle& look) {
  return indented(passages_of(prose), look);
}

std::string arithmetic_text(const CellArithmetic& worked, std::size_t width,
                            const std::string& names_hint) {
  constexpr std::size_t few_lines = 3, narrowest = 14;
  const std::size_t room = std::max(width, narrowest) - 2;
  std::string text;
  bool named = true;
  for (std::size_t k = 0; k < worked.lines.size(); ++k) {
    std::vector<std::string> lines = arithmetic_lines(worked, k, room - 2);
    if (k == 0 && worked.lines.size() > 1 && !names_hint.empty() && lines.size() > few_lines) {
      named = false;
      lines = {sanitise(worked.cell)};
    }
    text += hanging_lines("  ", lines, 4);
  }
  if (!worked.remark.empty()) text += hanging_lines("  ", wrapped(worked.remark, room), 2);
  if (!named) text += hanging_lines("  ", wrapped("The same with names: " + names_hint, room), 2);
  return text;
}

std::string lesson_heading(const Lesson& lesson, const WalkStyle& look) {
  const Exposition blocks = lesson_opening(lesson);
  const WalkWriter writer{lesson.asked, nullptr, look};
  const std::size_t head = std::min<std::size_t>(blocks.size(), lesson.summary.empty() ? 1 : 2);
  const std::string text = render({blocks.begin(), head}, writer);
  const std::string map = look.map ? "\n" + map_text(*look.map, look.width) : "";
  const bool ends = head == blocks.size() || map.empty();
  return text + map + (ends ? "" : "\n") +
         render({blocks.begin() + static_cast<long>(head), blocks.end()}, writer);
}

std::string step_text(const Lesson& lesson, const Trace& trace, const Step& step,
                      const WalkStyle& look) {
  const Exposition blocks = describe_step(lesson, trace, step, look);
  const WalkWriter writer{lesson.asked, &trace, look};
  // The note on exponents goes behind the first numbers that have one.
  const auto asides = std::find_if(blocks.begin(), blocks.end(), [](const Block& piece) {
    return is_prose_of(piece, ProseBlock::Role::notice) ||
           is_prose_of(piece, ProseBlock::Role::questions);
  });
  const bool notices = asides != blocks.end() && is_prose_of(*asides, ProseBlock::Role::notice);
  const auto rest = notices ? asides + 1 : asides;
  const std::string numbers = render({blocks.begin(), asides}, writer);
  const std::string notice = render({asides, rest}, writer);
  const std::string legend = exponent_legend(numbers);
  const std::string later = legend.empty() ? exponent_legend(notice) : "";
  std::string text =
      numbers + (legend.empty() ? "" : indented(legend, look) + (notices ? "\n" : "")) + notice +
      (later.empty() ? "" : "\n" + indented(later, look)) + render({rest, blocks.end()}, writer);
  if (text.ends_with("\n\n")) text.pop_back();  // no blank line comes last
  return text;
}

}  // namespace qkv::inline terminal
