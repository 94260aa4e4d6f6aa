#include "interactive/quiz.hpp"

#include <numeric>
#include <random>
#include <tuple>

#include "check/check.hpp"

namespace qkv::inline interactive {
namespace {

constexpr std::size_t max_cells = 16;  // that can be combined by hand
constexpr std::size_t max_tries = 500;

using CellSet = std::set<std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>>;

void collect(const Expression& term, CellSet& cells) {
  if (term.kind() == Expression::Kind::cell) {
    const CellPlace& place = term.place();
    cells.insert({place.operand, place.matrix, place.row, place.column});
  }
  for (const Expression& part : term.parts()) {
    if (cells.size() <= max_cells) collect(part, cells);
  }
}

bool hides_some(const Trace& trace, const Step& step) {
  for (std::size_t i = 0; i < step.output.values.size(); ++i) {
    if (hides(trace, step, i)) return true;
  }
  return false;
}

// A copied number is worth asking for where a mask may hide it, or where heads are joined.
bool is_good_question(const Trace& trace, const Step& step, const CellReference& cell,
                      bool is_mask) {
  const std::size_t place = step.output.index(cell.matrix, cell.row, cell.column);
  if (is_mask && hides(trace, step, place)) return true;
  const double value = step.output.values[place];
  const bool is_hidden_0_or_1 =
      !std::isfinite(value) || std::abs(value) < 1e-9 || std::abs(value - 1) < 1e-9;
  if (is_hidden_0_or_1) return false;
  const Expression expression = expression_of(trace, step, cell);
  const bool is_copied = expression.parts().empty();
  if (is_copied) {
    return expression.kind() == Expression::Kind::cell &&
           (is_mask || trace.at(step.of.front()).matrices() > step.output.matrices());
  }
  CellSet cells;
  collect(expression, cells);
  return !cells.empty() && cells.size() <= max_cells;
}

constexpr int tries = 2;
constexpr std::size_t max_terms = 16;

// The columns after an indent, with a minimum for very narrow windows.
std::size_t room_for_words(std::size_t columns, std::size_t indent) {
  return std::max<std::size_t>(columns, indent + 8) - indent;
}

// True if the answer has enough digits to tell one mistake from another: two, without the zeros
// that it begins with.
bool tells_mistakes(std::string_view text) {
  const std::string_view rest = text.substr(std::min(text.find_first_of("123456789"), text.size()));
  return std::ranges::count_if(rest, is_digit) > 1;
}

// An index and, where that is a number because the word stands at several places, the word.
std::string place_words(const Axis& axis, std::size_t i, std::size_t batch) {
  const std::string word = index_word(axis, i, batch);
  const std::string_view label = axis.label(i, batch);
  if (word.starts_with('"')) return word;
  if (!parse_number<std::size_t>(word)) return fmt::format("\"{}\"", word);
  return label.empty() ? word : fmt::format("{} ({})", word, label);
}

// A cell in words: `row "cat", column 2 of Q, head 1`.
std::string cell_in_words(const CellReference& cell, const Trace& trace) {
  const Tensor& tensor = trace.at(cell.name);
  const std::size_t batch =
      tensor.leading_axes() > 0 ? leading_index(tensor, cell.matrix).front() : cell.row;
  std::string row = place_words(tensor.row_axis(), cell.row, tensor.leading_axes() > 0 ? batch : 0);
  std::string column = place_words(tensor.axes.back(), cell.column, batch);
  if (tensor.rank() == 1) return fmt::format("number {} of {}", column, cell.name);
  if (is_shown_transposed(tensor, trace.token_layout)) std::swap(row, column);
  const std::string matrix = matrix_name(tensor, cell.matrix);
  return fmt::format("row {}, column {} of {}{}{}", row, column, cell.name,
                     matrix.empty() ? "" : ", ", matrix);
}

constexpr std::string_view introduction =
    "A quiz: work out a number before its step. Type it, or s to skip, q to quit, and press Enter.";

// The known mistakes that give the number; those of the operation come first. For a single number,
// a slip of the pen is reported only if nothing else gives it.
std::vector<Diagnosis> likely(std::vector<Diagnosis> mistakes) {
  const auto is_own = [](const Diagnosis& d) { return d.kind != CandidateKind::slip; };
  const auto own_end = std::stable_partition(mistakes.begin(), mistakes.end(), is_own);
  const auto own = static_cast<std::size_t>(own_end - mistakes.begin());
  mistakes.resize(std::min(mistakes.size(), std::clamp<std::size_t>(own, 1, 2)));
  return mistakes;
}

std::string mistake_text(const std::vector<Diagnosis>& mistakes, bool sure) {
  std::string text;
  for (const Diagnosis& mistake : mistakes) {
    const std::string_view start = sure           ? "A known mistake makes that number:"
                                   : text.empty() ? "It could be:"
                                                  : "Or it could be:";
    text += fmt::format("\n{} {} {}", start, mistake.says, mistake.hint);
  }
  return text;
}

}  // namespace

std::optional<CellReference> question_cell(const Trace& trace, const Step& step, std::uint32_t seed,
                                           std::optional<std::size_t> head) {
  const Tensor& tensor = step.output;
  if (tensor.values.empty()) return {};
  const bool is_mask = hides_some(trace, step);
  std::mt19937 engine(seed * 1000003U + static_cast<std::uint32_t>(step.number));
  // Visits every cell once from a random one: the stride and the count are coprime.
  const std::size_t count = tensor.values.size();
  const std::size_t start = engine() % count;
  std::size_t stride = count > 2 ? 1 + engine() % (count - 1) : 1;
  while (std::gcd(stride, count) != 1) ++stride;
  for (std::size_t n = 0; n < std::min(count, max_tries); ++n) {
    const std::size_t i = (start + n * stride) % count;
    const CellReference cell = in_head(cell_at(step.name, tensor, i), trace, head);
    if (is_good_question(trace, step, cell, is_mask)) return cell;
  }
  return {};
}

std::optional<std::string> lesson_about(const Operation& operation, const Lesson& lesson) {
  const auto explains = [&](const Lesson& one) { return contains(one.explains, operation.name); };
  if (explains(lesson)) return {};
  for (const BuiltInLesson& built_in : built_in_lessons()) {
    const Lesson other = find_lesson(std::string(built_in.name)).lesson;
    if (other.name != lesson.name && explains(other)) return other.name;
  }
  return {};
}

bool Quiz::ask(const Walkthrough& walk) {
  const Step& step = walk.step();
  if (contains(results_, step.name, &Result::step)) return false;
  cell_ = question_cell(walk.trace(), step, seed_, walk.style.head);
  if (!cell_) return false;
  tries_ = 0;
  last_reply_.clear();
  results_.push_back({.step = step.name, .cell = name(walk), .operation = step.operation});
  return true;
}

std::string Quiz::name(const Walkthrough& walk) const {
  return reference_text(*cell_, walk.trace().at(cell_->name), walk.trace().token_layout);
}

std::string Quiz::question(const Walkthrough& walk, WindowSize window) const {
  const Step& step = walk.step();
  const WalkStyle look = style_of(walk, window.columns);
  const std::string number = fmt::format("{}/{}", step.number, walk.now->trace.length);
  // The question goes first: if a page is too long for the window, its end is hidden.
  constexpr std::size_t min_rows_for_title = 12;
  std::string text = window.rows < min_rows_for_title
                         ? fmt::format("{} What is {}?\n", number, sanitise(name(walk)))
                         : fmt::format("{}  {}  {}\n\n", number, step.name,
                                       sanitise(title_of(walk.now->lesson, step.number))) +
                               indented(fmt::format("Before you see it: what is {}?",
                                                    cell_in_words(*cell_, walk.trace())),
                                        look) +
                               "\n";
  const bool is_first = !is_introduced_ && results_.size() == 1 && last_reply_.empty();
  constexpr std::size_t min_rows_for_introduction = 16;
  if (is_first && window.rows >= min_rows_for_introduction)
    text += indented(introduction, look) + "\n";
  text +=
      indented_lines(broken_lines(sanitise_prose(last_reply_), room_for_words(window.columns, 2)));
  if (!last_reply_.empty()) text += "\n";
  text += indented(formula_text(formula_of(walk.trace(), step)), look) + "\n";
  return text + indented_lines(operands_view(walk, *cell_, window), 0);
}

std::string Quiz::introduce() {
  is_introduced_ = true;
  return std::string(introduction);
}

std::string Quiz::prompt(const Walkthrough& walk) const { return name(walk) + " = "; }

QuizReply Quiz::answer(const Walkthrough& walk, std::string_view text) {
  if (trimmed(text).empty() && tries_ > 0) return {last_reply_};  // a hint stays
  QuizReply reply = evaluate_answer(walk, trimmed(text));
  last_reply_ = reply.message;
  return reply;
}

QuizReply Quiz::evaluate_answer(const Walkthrough& walk, std::string_view text) {
  if (text.empty()) return {"Write the number, such as 0.25, 3/7, √2 or -inf; s skips, q quits."};
  const double value = walk.trace().at(cell_->name).at(cell_->matrix, cell_->row, cell_->column);
  const std::string worth = fmt::format("{} = {}", name(walk), brief(value, walk.style.digits));
  if (text == "s") {
    close(Outcome::skipped);
    return {fmt::format("Skipped: {}.", worth)};
  }
  Numeral answer;
  try {
    const double size = std::abs(value);
    const bool is_grouped = size < 1e15 && size == std::trunc(size) &&
                            text == (value < 0 ? "-" : "") + group_digits(std::uint64_t(size));
    answer = parse_answer(is_grouped ? replace_all(text, ",", "") : text);  // 8,204 for 8204
  } catch (const InputError& error) {
    return {fmt::format("{} (s skips).", error.what())};
  }
  const AnswerReport report = judge_answer(walk.trace(), *cell_, answer, walk.style.digits);
  if (report.is_right()) {
    close(tries_ == 0 ? Outcome::first_try : Outcome::second_try);
    const bool exact = report.verdict == Verdict::correct;
    return {fmt::format("{}: {}.", exact ? "Right" : "Right, but for rounding", worth)};
  }
  const bool sure = is_certain(report.mistakes, 1);
  const std::vector<Diagnosis> mistakes =
      tells_mistakes(text) ? likely(report.mistakes) : std::vector<Diagnosis>();
  if (sure && !mistakes.empty()) results_.back().mistake = mistakes.front().says;
  return missed(walk, text, mistake_text(mistakes, sure));
}

QuizReply Quiz::missed(const Walkthrough& walk, std::string_view written, const std::string& why) {
  ++tries_;
  results_.back().outcome = Outcome::missed;  // unless the next try is correct
  if (tries_ < tries) {
    const CellArithmetic worked =
        arithmetic_of(walk.trace(), *cell_, {.digits = walk.style.digits, .max_terms = max_terms});
    const std::vector<std::string>& lines = worked.lines;
    const std::string how =
        lines.size() > 2   ? fmt::format("= {}\n= {}", lines[0], lines[1])
        : lines.size() > 1 ? "= " + lines[0]
        : hides_some(walk.trace(), walk.step())
            ? fmt::format("({}): may this query see this key? If so, its score stays.",
                          title_of(walk.now->lesson, walk.step().number))
            : fmt::format("({}): which cell of {} is copied here?",
                          title_of(walk.now->lesson, walk.step().number), walk.step().of.front());
    return {fmt::format("Not {}.{}\nOnce more: {} {}", written, why, worked.cell, how)};
  }
  QuizReply reply{fmt::format("Not {} either.{}\nThis is how it is worked out.", written, why),
                  cell_};
  close(Outcome::missed);
  return reply;
}

std::span<const Quiz::Result> Quiz::tried() const {
  const bool untouched = is_open() && tries_ == 0;
  return std::span(results_).first(results_.size() - (untouched ? 1 : 0));
}

void Quiz::close(Outcome outcome) {
  results_.back().outcome = outcome;
  cell_.reset();
}

std::string Quiz::summary(const Walkthrough& walk, std::size_t columns) const {
  constexpr std::string_view outcomes[] = {"right", "right at the second try", "missed", "skipped"};
  if (tried().empty()) return "Nothing has been asked.\n";
  std::size_t right = 0, widest = 0;
  for (const Result& result : tried()) {
    right += result.outcome <= Outcome::second_try ? 1 : 0;
    widest = std::max(widest, width(sanitise(result.cell)));
  }
  std::string text = fmt::format("{} of {} right\n", right, tried().size());
  for (const Result& result : tried()) {
    const std::string_view outcome = outcomes[static_cast<std::size_t>(result.outcome)];
    const bool beside = widest + 4 + width(outcome) <= columns;
    text += fmt::format(
        "  {}{}{}\n", beside ? padded_right(sanitise(result.cell), widest) : sanitise(result.cell),
        beside ? "  " : "\n    ", outcome);
    if (result.outcome == Outcome::first_try) continue;
    text += indented_lines(broken_lines(result.mistake, room_for_words(columns, 4)), 4);
  }
  const std::string others = fmt::format("\nOther cells: qkv run {} --quiz --seed {}\n",
                                         sanitise(walk.now->lesson.asked), seed_ + 1);
  return text + where_to_read(walk) + others;
}

std::string Quiz::where_to_read(const Walkthrough& walk) const {
  const Lesson& lesson = walk.now->lesson;
  std::string text;
  std::vector<const Operation*> listed;
  for (const Result& result : tried()) {
    const bool again = result.outcome == Outcome::missed;
    if (!again || contains(listed, result.operation)) continue;
    listed.push_back(result.operation);
    const std::string title = title_of(lesson, walk.trace().step_at(result.step).number);
    text += fmt::format("  {}\n    qkv run {} --step {}\n", sanitise(title), sanitise(lesson.asked),
                        result.step);
    if (const auto other = lesson_about(*result.operation, lesson)) {
      text += fmt::format("    qkv run {}\n", *other);
    }
  }
  return text.empty() ? "" : "\nTo read again:\n" + text;
}

}  // namespace qkv::inline interactive
