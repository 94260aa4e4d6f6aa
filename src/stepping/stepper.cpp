#include "stepping/stepper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "render/text.hpp"
#include "stepping/stepper_keys.hpp"
#include "tensor/error.hpp"
#include "tensor/utf8.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

const Key end_of_input{Key::Kind::control, "d"};  // Ctrl-D
constexpr long any_width = 1L << 40;              // more columns than any matrix has
constexpr long far = 10;                          // rows that PgUp and PgDn move a cell

// The beginning that all of the names share.
std::string common_beginning(const std::vector<std::string>& names) {
  std::string common = names.empty() ? "" : names.front();
  for (const std::string& name : names) {
    const auto differ = std::mismatch(common.begin(), common.end(), name.begin(), name.end());
    common.erase(differ.first, common.end());
  }
  return common;
}

std::vector<std::string> givens_beginning(const Trace& trace, std::string_view prefix) {
  std::vector<std::string> names;
  for (const Given& given : trace.givens) {
    if (given.name.starts_with(prefix)) names.push_back(given.name);
  }
  return names;
}

std::string changes_note(const Walkthrough& walk) {
  if (walk.set.empty()) return {};
  std::string text = "Changed:";
  for (const std::string& change : walk.set) text += " " + change;
  return text + (walk.picture == Picture::dots
                     ? " (u undoes; h shows numbers, where * marks those that differ)"
                     : " (* marks numbers that differ, u undoes)");
}

}  // namespace

Stepper::Stepper(Walkthrough walk, std::optional<Quiz> quiz, Exporter exporter)
    : walk_(std::move(walk)), quiz_(std::move(quiz)), exporter_(std::move(exporter)) {
  arrive();
}

void Stepper::resize(WindowSize window) {
  window_ = window;
  shown_rows_ = window.rows - std::min<std::size_t>(window.rows, 1);
}

// ---- keys ------------------------------------------------------------------------------------

void Stepper::press(const Key& key) {
  if (key.kind == Key::Kind::end_of_input) return quit();
  try {
    if (asks_ != Asks::nothing) return press_in_prompt(key);
    if (key == end_of_input) return quit();
    message_.clear();
    if (shows_ == Shows::keys) return press_in_help(key);
    const auto does = StepperKeys::action(key, shows_ == Shows::cell);
    if (does) (this->*does)();
  } catch (const InputError& error) {
    message_ = error.what();
    line_.selected = !line_.text.empty();  // there to be mended, or to be typed over
  }
}

// The scrolling keys scroll, as long as there is something to scroll.
void Stepper::press_in_help(const Key& key) {
  const auto does = StepperKeys::action(key, false);
  const bool forward =
      does == &Stepper::read_on || does == &Stepper::page_down || does == &Stepper::scroll_down;
  if (forward && scroll_ + shown_rows_ < page().size()) return page_down();
  if (does == &Stepper::page_up || does == &Stepper::scroll_up) return page_up();
  shows_ = cell_ ? Shows::cell : Shows::step;
  scroll_ = before_keys_;
}

void Stepper::picture() {
  message_ = next_picture(walk_);
  // A cell is explained in numbers.
  if (shows_ == Shows::cell && walk_.picture == Picture::dots) message_ = next_picture(walk_);
}

void Stepper::show_keys() {
  shows_ = Shows::keys;
  before_keys_ = std::exchange(scroll_, 0);
}

void Stepper::arrive() {
  scroll_ = 0;
  cell_.reset();
  shows_ = Shows::step;
  if (quiz_ && quiz_->ask(walk_)) ask(Asks::answer);
}

void Stepper::read_on() {
  const std::size_t lines = page().size();
  if (shows_ == Shows::step && scroll_ + shown_rows_ < lines) return page_down();
  next_step();
}

void Stepper::next_step() {
  if (shows_ == Shows::summary) return quit();
  if (walk_.at < walk_.stretch.last) {
    ++walk_.at;
    return arrive();
  }
  if (quiz_) {
    shows_ = Shows::summary;
    scroll_ = 0;
  } else {
    message_ = "That was the last step: b goes back, q quits.";
  }
}

void Stepper::previous_step() {
  if (shows_ != Shows::summary) {
    if (walk_.at == walk_.stretch.first) {
      message_ = "This is the first step.";
      return;
    }
    --walk_.at;
  }
  arrive();
}

void Stepper::scroll_up() { scroll_ -= std::min<std::size_t>(scroll_, 1); }
void Stepper::scroll_down() { ++scroll_; }  // no further than the end: the frame sees to it
void Stepper::page_up() { scroll_ -= std::min(scroll_, std::max<std::size_t>(shown_rows_, 2) - 1); }
void Stepper::page_down() { scroll_ += std::max<std::size_t>(shown_rows_, 2) - 1; }
void Stepper::to_top() { scroll_ = 0; }
void Stepper::to_end() { scroll_ = page().size(); }

void Stepper::leave_cell() {
  left_ = std::exchange(cell_, {});
  shows_ = Shows::step;
  scroll_ = before_cell_;
}

// The head, say, of the cell that was explained last of this step.
std::size_t Stepper::left_matrix() const {
  return left_ && left_->name == walk_.step().name ? left_->matrix : 0;
}

void Stepper::far_up() { move({.rows = -far}); }
void Stepper::far_down() { move({.rows = far}); }
void Stepper::row_start() { move({.columns = -any_width}); }
void Stepper::row_end() { move({.columns = any_width}); }

void Stepper::show_cell(const CellReference& cell) {
  if (!walk_.trace().find_step(cell.name)) {
    throw InputError(
        fmt::format("{} is given: there is nothing to work out; s sets it", cell.name));
  }
  if (shows_ == Shows::step) before_cell_ = scroll_;
  if (cell.name != walk_.step().name) {
    go_to(walk_, cell.name);
    before_cell_ = 0;
  }
  cell_ = cell;
  shows_ = Shows::cell;
  scroll_ = 0;
}

// ---- prompts ---------------------------------------------------------------------------------

void Stepper::ask(Asks what) {
  asks_ = what;
  line_ = {};
}

void Stepper::press_in_prompt(const Key& key) {
  switch (key.kind) {
    case Key::Kind::enter: return finish_prompt();
    case Key::Kind::tab: return complete();
    case Key::Kind::page_up: return page_up();
    case Key::Kind::page_down: return page_down();
    case Key::Kind::up: return scroll_up();
    case Key::Kind::down: return scroll_down();
    case Key::Kind::escape:
      message_.clear();
      if (asks_ != Asks::answer) asks_ = Asks::nothing;
      line_ = {};
      return;
    default: break;
  }
  // Ctrl-D on an empty line ends the input, as everywhere.
  if (key == end_of_input && line_.text.empty()) return quit();
  line_ = edited(line_, key);
}

void Stepper::complete() {
  std::vector<std::string> names;
  if (asks_ == Asks::step) names = steps_beginning(walk_, line_.text);
  if (asks_ == Asks::change) names = givens_beginning(walk_.trace(), line_.text);
  std::string common = common_beginning(names);
  if (asks_ == Asks::change && names.size() == 1) common += "[";
  if (common.size() > line_.text.size()) line_ = {common, common.size()};
}

void Stepper::finish_prompt() {
  const std::string text = line_.text;
  const Asks asked = asks_;
  message_.clear();
  const bool nothing_typed = text.find_first_not_of(' ') == std::string::npos;
  if (asked == Asks::answer) return finish_answer(text);
  if (asked == Asks::cell) {
    show_cell(cell_meant(walk_, text, left_matrix()));
  } else if (!nothing_typed && asked == Asks::step) {
    go_to(walk_, text);
    asks_ = Asks::nothing;
    return arrive();
  } else if (!nothing_typed && asked == Asks::change) {
    message_ = set_cell(walk_, text);
  } else if (!nothing_typed && asked == Asks::directory) {
    message_ = exporter_(*walk_.now, text);
  }
  asks_ = Asks::nothing;
}

void Stepper::finish_answer(const std::string& text) {
  if (text == "q") return quit();
  const QuizReply reply = quiz_->answer(walk_, text);
  message_ = reply.says;
  line_ = {};
  if (quiz_->is_open()) return;
  asks_ = Asks::nothing;
  scroll_ = 0;
  if (reply.worked) show_cell(*reply.worked);
}

// ---- frames ----------------------------------------------------------------------------------

Stepper::PageOf Stepper::wanted() const {
  const bool question = quiz_ && quiz_->is_open();
  return {.lesson = walk_.now,
          .at = walk_.at,
          .columns = window_.columns,
          .rows = question ? window_.rows : 0,
          .digits = walk_.digits,
          .picture = walk_.picture,
          .shows = shows_,
          .question = question,
          .answered = quiz_ && shows_ == Shows::summary ? quiz_->answered() : 0};
}

std::string Stepper::text_of(const PageOf& of) {
  if (of.shows == Shows::keys) return StepperKeys::help(of.columns);
  if (of.shows == Shows::summary) return quiz_->summary(walk_, of.columns);
  if (of.question) return quiz_->question(walk_, window_, showcase_);
  const WalkLook look = look_of(walk_, of.columns);
  const LoadedLesson& now = *of.lesson;
  std::string text;
  if (of.at == walk_.stretch.first) text = opening(walk_, of.columns);
  if (!walk_.set.empty()) text += indented(changes_note(walk_), look) + "\n";
  return text + step_text(now.lesson, now.trace, now.trace.steps[of.at], look);
}

const std::vector<std::string>& Stepper::page(const PageOf& of) {
  constexpr std::size_t most_pages = 8;
  const auto known =
      std::find_if(pages_.begin(), pages_.end(), [&](const Page& page) { return page.of == of; });
  if (known != pages_.end()) return known->lines;
  if (!pages_.empty() && pages_.front().of.lesson != of.lesson) pages_.clear();
  pages_.push_front({of, page_lines(text_of(of), of.columns)});
  if (pages_.size() > most_pages) pages_.pop_back();
  return pages_.front().lines;
}

void Stepper::look_ahead() {
  PageOf next = wanted();
  if (over_ || next.question || next.shows != Shows::step || next.at == walk_.stretch.last) return;
  ++next.at;
  page(next);
}

std::vector<std::string> Stepper::body(std::size_t rows) {
  std::vector<std::string> lines =
      shows_ == Shows::cell ? cell_view(walk_, *cell_, {rows, window_.columns}, showcase_) : page();
  scroll_ = std::min(scroll_, lines.size() - std::min(lines.size(), rows));
  lines.erase(lines.begin(), lines.begin() + static_cast<std::ptrdiff_t>(scroll_));
  return lines;
}

std::string Stepper::prompt_label() const {
  switch (asks_) {
    case Asks::step: return "go to step: ";
    case Asks::cell: return "cell: ";
    case Asks::change: return "set: ";
    case Asks::directory: return "export to directory: ";
    case Asks::answer: return visible(quiz_->prompt(walk_));
    case Asks::nothing: break;
  }
  return {};
}

// What helps to fill in the prompt.
std::vector<std::string> Stepper::hint() const {
  const auto joined = [](const std::vector<std::string>& names) {
    return fmt::format("{}", fmt::join(names, " "));
  };
  std::string text;
  const Trace& trace = walk_.trace();
  if (asks_ == Asks::step) {
    text = "a number or a name (Tab completes it): " + joined(steps_beginning(walk_, line_.text));
  } else if (asks_ == Asks::cell && !walk_.step().output.values.empty()) {
    const std::string head = matrix_name(walk_.step().output, left_matrix());
    text =
        fmt::format("row,column{}; Enter alone: {}", head.empty() ? "" : " in " + head,
                    reference_text(cell_meant(walk_, ""), walk_.step().output, trace.convention));
  } else if (asks_ == Asks::change) {
    const auto names = givens_beginning(trace, line_.text.substr(0, line_.text.find('[')));
    const std::string example = change_example(walk_);
    text = "a given's cell and its value" + (example.empty() ? "" : ", as in " + example) +
           "; given: " + joined(names.empty() ? givens_beginning(trace, "") : names);
  } else if (asks_ == Asks::directory) {
    text = "every matrix as CSV, with all its digits; Esc leaves it";
  } else if (asks_ == Asks::answer) {
    text = "Enter answers; s skips, q quits, PgUp PgDn scroll";
  }
  return broken(visible(text), window_.columns);
}

std::vector<std::string> Stepper::notes(std::size_t most) const {
  std::vector<std::string> lines = broken(visible_prose(message_), window_.columns);
  if (asks_ != Asks::nothing) {
    for (std::string& line : hint()) lines.push_back(std::move(line));
  }
  if (lines.size() > most) {
    lines.resize(most);
    if (most > 0) lines.back() = fitted(lines.back() + " ……", window_.columns);
  }
  return lines;
}

// What stands in place of "Enter next" on the last step.
std::string_view Stepper::at_end() const {
  if (walk_.at < walk_.stretch.last) return {};
  return quiz_ ? "Enter result" : "last step";
}

std::string Stepper::status(std::size_t hidden) const {
  const Step& step = walk_.step();
  const std::string number = fmt::format("{}/{}", step.number, walk_.now->trace.length);
  const std::string line =
      shows_ == Shows::keys
          ? fitted(hidden > 0 ? "Space scrolls, any other key goes back" : "Any key goes back",
                   window_.columns)
          : StepperKeys::status({.number = number,
                                 .name = step.name,
                                 .hidden = hidden,
                                 .in_cell = shows_ == Shows::cell,
                                 .at_end = at_end(),
                                 .has_heads = step.output.matrices() > 1},
                                window_.columns);
  return walk_.colour ? fmt::format("\x1b[7m{}\x1b[0m", padded_right(line, window_.columns)) : line;
}

// What is being typed; what does not fit scrolls out on the left.
void Stepper::add_prompt(Frame& frame) const {
  constexpr std::size_t room_to_type = 16;
  const std::size_t columns = window_.columns;
  const std::string label = fitted(prompt_label(), columns - std::min(columns / 2, room_to_type));
  const std::size_t room = columns - std::min(columns, width(label) + 1);
  std::string before = visible(line_.text.substr(0, line_.cursor));
  while (width(before) > room) before.erase(0, std::max<std::size_t>(1, utf8_length(before)));
  const std::string typed = before + visible(line_.text.substr(line_.cursor));
  const bool shaded = walk_.colour && line_.selected;
  frame.lines.push_back(label + (shaded ? fmt::format("\x1b[7m{}\x1b[0m", typed) : typed));
  frame.cursor = CursorPlace{frame.lines.size() - 1, width(label) + width(before)};
}

Frame Stepper::frame() {
  if (window_.rows == 0 || window_.columns == 0) return {};
  std::vector<std::string> below = notes(window_.rows / 2);
  const std::size_t rows = window_.rows - 1 - std::min(window_.rows - 1, below.size());
  shown_rows_ = rows;
  Frame frame{.lines = body(rows)};
  const std::size_t hidden = frame.lines.size() - std::min(frame.lines.size(), rows);
  frame.lines.resize(rows);
  for (std::string& line : below) frame.lines.push_back(std::move(line));
  if (asks_ == Asks::nothing) {
    frame.lines.push_back(status(hidden));
  } else {
    add_prompt(frame);
  }
  for (std::string& line : frame.lines) line = fitted(line, window_.columns);
  return frame;
}

}  // namespace qkv
