#include "interactive/stepper.hpp"

namespace qkv::inline interactive {
namespace {

constexpr int usual_digits = 4;

// The remaining steps: all from here on, or the requested ones.
std::string steps_left(const Walkthrough& walk) {
  if (walk.step_range.only.empty()) return walk.at == 0 ? "" : " --from " + walk.step().name;
  std::string words;
  for (const std::size_t place : walk.step_range.only) {
    if (place >= walk.at) words += " --step " + walk.trace().steps[place].name;
  }
  return words.empty() ? " --from " + walk.step().name : words;
}

std::string example_cell(const Walkthrough& walk) {
  const Tensor& output = walk.step().output;
  if (output.values.empty()) return {};
  return reference_text(resolve_cell(walk, ""), output, walk.trace().token_layout);
}

}  // namespace

std::string resume_command(const Walkthrough& walk, const std::optional<Quiz>& quiz,
                           std::string_view options) {
  const bool is_asked = quiz && quiz->is_open();
  const bool is_over = !next_step_index(walk) && !is_asked;
  const bool has_moved = walk.at != walk.step_range.first || (quiz && quiz->answered() > 0);
  const std::string following = is_over && !quiz && walk.set.empty() ? next_lesson(walk) : "";
  if (!following.empty()) return fmt::format("To go on from here: qkv run {}\n", following);
  if (walk.set.empty() && (is_over || !has_moved)) return {};
  std::string words = sanitise(walk.now->lesson.asked);
  words.append(options);
  if (walk.style.head) words += fmt::format(" --head {}", *walk.style.head + 1);
  if (walk.style.code) words += " --code";
  if (walk.style.digits != usual_digits) words += fmt::format(" --digits {}", walk.style.digits);
  return fmt::format("To go on from here: qkv run {}{}\n", words, steps_left(walk));
}

// A letter or word, its action, and an example of its argument.
struct PlainStepper::Command {
  std::string_view letter;
  std::string_view word;
  std::string (PlainStepper::*does)(std::string_view);
  std::string_view help;
  std::string (*example)(const Walkthrough& walk) = nullptr;
};

std::span<const PlainStepper::Command> PlainStepper::commands() {
  static constexpr Command all[] = {
      {"n", "next", &PlainStepper::next, "the next step, as Enter alone"},
      {"b", "back", &PlainStepper::back, "the step before"},
      {"g", "go", &PlainStepper::go,
       "goes to a step: g scores, or g 3; alone: shows this one again"},
      {"e", "explain", &PlainStepper::explain, "explains a cell", example_cell},
      {"s", "set", &PlainStepper::set, "sets a given's cell", example_change},
      {"u", "undo", &PlainStepper::tells<undo>, "undoes the last change"},
      {"+", "more", &PlainStepper::shows<[](Walkthrough& walk) { return more_digits(walk, 1); }>,
       "one more decimal"},
      {"-", "fewer", &PlainStepper::shows<[](Walkthrough& walk) { return more_digits(walk, -1); }>,
       "one decimal fewer"},
      {"a", "answers", &PlainStepper::tells<answers>, "answers the questions at the lesson's end"},
      {"h", "picture", &PlainStepper::shows<next_picture>, "heatmap, dots or numbers only"},
      {"c", "code", &PlainStepper::shows<toggle_code>, "the lines of NumPy and PyTorch, or not"},
      {"x", "export", &PlainStepper::export_to, "exports every matrix to a directory: x numbers"},
      {"?", "help", &PlainStepper::help, "these commands"},
      {"q", "quit", &PlainStepper::quit, "quits"},
  };
  return all;
}

PlainStepper::PlainStepper(Walkthrough walk, std::optional<Quiz> quiz, WriteAll write_all,
                           std::size_t columns)
    : SteppingSession(std::move(walk), std::move(quiz), std::move(write_all)), columns_(columns) {}

std::string PlainStepper::begin() {
  const std::string intro = lesson_intro(walk_, columns_);
  const std::string quiz = quiz_ ? indented(quiz_->introduce()) + "\n" : "";
  return intro + quiz + arrive();
}

std::string PlainStepper::prompt() const {
  if (quiz_ && quiz_->is_open()) return sanitise(quiz_->prompt(walk_));
  const bool last = !next_step_index(walk_);
  return fmt::format("({}/{}) {}, b back, e explain, ? all commands, q quit: ", walk_.step().number,
                     walk_.now->trace.length,
                     !last                        ? "Enter next"
                     : next_lesson(walk_).empty() ? "last step"
                                                  : "last step, n next lesson");
}

std::string PlainStepper::answer(std::string_view line) {
  line = trimmed(line);
  try {
    if (quiz_ && quiz_->is_open()) return answered(line);
    if ((line == "n" || line == "next") && !quiz_ && !next_lesson(walk_).empty()) {
      walk_ = in_next_lesson(walk_);
      return begin();
    }
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string_view word = line.empty() ? "n" : line.substr(0, blank);
    for (const Command& command : commands()) {
      if (command.letter != word && command.word != word) continue;
      return (this->*command.does)(trimmed(line.substr(blank)));
    }
    return indented(fmt::format("There is no command \"{}\"; ? lists them.", word));
  } catch (const InputError& error) {
    return indented(error.what());
  }
}

std::string PlainStepper::end() {
  over_ = true;
  return quiz_ ? "\n" + quiz_->summary(walk_, columns_) : "";
}

std::string PlainStepper::indented(std::string_view message) const {
  return indented_lines(broken_lines(sanitise_prose(message), columns_ - 2));
}

std::string PlainStepper::shown() const {
  return step_text(walk_.now->lesson, walk_.trace(), walk_.step(), style_of(walk_, columns_)) +
         "\n";
}

// The step's question, or the step. A quiz asks so often that it needs no other pauses.
std::string PlainStepper::arrive() {
  if (quiz_ && quiz_->ask(walk_)) return quiz_->question(walk_, {.rows = 60, .columns = columns_});
  return quiz_ ? step_then_next() : shown();
}

// The operands of + are evaluated in any order: the one that moves on needs its own statement.
std::string PlainStepper::step_then_next() {
  std::string text = shown();
  return text += next({});
}

std::string PlainStepper::next(std::string_view) {
  if (const auto next = next_step_index(walk_)) {
    walk_.at = *next;
    return arrive();
  }
  if (!quiz_) return indented(at_last_step(walk_));
  over_ = true;
  return quiz_->summary(walk_, columns_);
}

std::string PlainStepper::back(std::string_view) {
  return step_back(walk_) ? shown() : indented("This is the first step.");
}

std::string PlainStepper::go(std::string_view step) {
  if (!step.empty()) go_to(walk_, step);
  return arrive();
}

std::string PlainStepper::explain(std::string_view text) {
  const CellReference cell = resolve_cell(walk_, text);
  if (!walk_.trace().find_step(cell.name)) {
    return indented(fmt::format("{} is given: there is nothing to work out.", cell.name));
  }
  return arithmetic(cell);
}

std::string PlainStepper::arithmetic(const CellReference& cell) const {
  const CellArithmetic worked =
      arithmetic_of(walk_.trace(), cell, {.digits = walk_.style.digits, .max_terms = 24});
  return arithmetic_text(worked, columns_) + "\n";
}

std::string PlainStepper::set(std::string_view change) {
  if (change.empty())
    return indented("Write the cell and its value after it: s " + example_change(walk_));
  return indented(set_cell(walk_, std::string(change)));
}

std::string PlainStepper::export_to(std::string_view directory) {
  if (directory.empty()) return indented("Write the directory after it: x numbers");
  return indented(write_all_(*walk_.now, std::string(directory)));
}

std::string PlainStepper::help(std::string_view) {
  std::string text;
  for (const Command& command : commands()) {
    const std::string example = command.example ? sanitise(command.example(walk_)) : "";
    text += fmt::format("  {:<1}  {:<8} {}{}\n", command.letter, command.word, command.help,
                        example.empty() ? "" : fmt::format(": {} {}", command.letter, example));
  }
  return text;
}

std::string PlainStepper::quit(std::string_view) { return end(); }

std::string PlainStepper::answered(std::string_view text) {
  if (text == "q") return end();
  const QuizReply reply = quiz_->answer(walk_, text);
  std::string out = indented(reply.message);
  if (quiz_->is_open()) return out;
  out += "\n";
  if (reply.worked) out += arithmetic(*reply.worked);
  return out + step_then_next();
}

}  // namespace qkv::inline interactive
