#include "interactive/stepper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "interactive/stepper_keys.hpp"
#include "text/error.hpp"
#include "text/escape.hpp"

namespace qkv::inline interactive {
namespace {

const Key end_of_input{Key::Kind::control, "d"};  // Ctrl-D
std::string common_beginning(const std::vector<std::string>& names) {
  std::string common = names.empty() ? "" : names.front();
  for (const std::string& name : names) {
    const auto differ = std::mismatch(common.begin(), common.end(), name.begin(), name.end());
    common.erase(differ.first, common.end());
  }
  return common;
}

}  // namespace

Stepper::Stepper(Walkthrough walk, std::optional<Quiz> quiz, WriteAll write_all)
    : walk_(std::move(walk)), quiz_(std::move(quiz)), write_all_(std::move(write_all)) {
  arrive();
  if (quiz_ && !quiz_->is_open()) message_ = quiz_->introduce();
}

void Stepper::resize(WindowSize window) {
  window_ = window;
  shown_rows_ = window.rows - std::min<std::size_t>(window.rows, 1);
}

void Stepper::press(const Key& key) {
  if (key.kind == Key::Kind::end_of_input) return quit();
  try {
    handle(key);
  } catch (const InputError& error) {
    message_ = error.what();
    line_.selected = !line_.text.empty();  // to be edited, or to be replaced by typing
  }
  const bool is_long =
      broken_lines(sanitise_prose(message_), window_.columns).size() > window_.rows / 2;
  if (prompt_ == Prompt::nothing && is_long && !has_overlay()) open_overlay(View::message);
}

void Stepper::handle(const Key& key) {
  if (prompt_ != Prompt::nothing) return press_in_prompt(key);
  if (key == end_of_input) return quit();
  if (has_overlay()) return press_in_overlay(key);
  message_.clear();
  const auto does = StepperKeys::action(key, view_ == View::cell);
  if (does) (this->*does)();
}

// Shows the help, or a message for which the window has no room below the page.
void Stepper::open_overlay(View what) {
  before_ = std::exchange(view_, what);
  scroll_before_help_ = std::exchange(scroll_, 0);
}

// Scrolling keys scroll while there is something to scroll; others close.
void Stepper::press_in_overlay(const Key& key) {
  const auto does = StepperKeys::action(key, false);
  if (does == &Stepper::quit) return quit();
  const bool forward =
      does == &Stepper::read_on || does == &Stepper::page_down || does == &Stepper::scroll_down;
  if (forward && scroll_ + shown_rows_ < page().size()) return page_down();
  if (does == &Stepper::page_up || does == &Stepper::scroll_up) return page_up();
  message_.clear();
  view_ = before_;
  scroll_ = scroll_before_help_;
}

void Stepper::picture() {
  message_ = next_picture(walk_);
  // A cell is explained with numbers, not glyphs.
  if (view_ == View::cell && walk_.picture == Picture::glyphs) message_ = next_picture(walk_);
}

void Stepper::arrive() {
  scroll_ = 0;
  cell_.reset();
  view_ = View::step;
  if (quiz_ && quiz_->ask(walk_)) ask(Prompt::answer);
}

void Stepper::read_on() {
  const std::size_t lines = page().size();
  if (view_ == View::step && scroll_ + shown_rows_ < lines) return page_down();
  next_step();
}

void Stepper::next_step() {
  if (view_ == View::summary) return quit();
  if (const auto next = next_step_index(walk_)) {
    walk_.at = *next;
    return arrive();
  }
  if (quiz_) {
    view_ = View::summary;
    scroll_ = 0;
  } else {
    message_ = at_last_step(walk_);
  }
}

// The next step, or after the last one the next lesson.
void Stepper::go_on() {
  if (quiz_ || next_lesson(walk_).empty()) return next_step();
  walk_ = in_next_lesson(walk_);
  left_.reset();
  arrive();
}

void Stepper::previous_step() {
  if (view_ == View::summary || step_back(walk_)) return arrive();
  message_ = "This is the first step.";
}

void Stepper::leave_cell() {
  left_ = std::exchange(cell_, {});
  view_ = View::step;
  scroll_ = scroll_before_cell_;
}

// The matrix (such as a head) of this step's last explained cell.
std::size_t Stepper::last_matrix() const {
  return left_ && left_->name == walk_.step().name ? left_->matrix : 0;
}

void Stepper::show_cell(const CellReference& cell) {
  if (!walk_.trace().find_step(cell.name)) {
    throw InputError(
        fmt::format("{} is given: there is nothing to work out; s sets it", cell.name));
  }
  if (view_ == View::step) scroll_before_cell_ = scroll_;
  if (cell.name != walk_.step().name) {
    go_to(walk_, cell.name);
    scroll_before_cell_ = 0;
  }
  cell_ = cell;
  view_ = View::cell;
  scroll_ = 0;
}

void Stepper::ask(Prompt what) {
  prompt_ = what;
  line_ = {};
}

// Before another cell is typed, the arrows start from the default cell.
bool Stepper::picks_cell(const Key& key) {
  constexpr Key::Kind arrows[] = {Key::Kind::up, Key::Kind::down, Key::Kind::left,
                                  Key::Kind::right};
  if (prompt_ != Prompt::cell || !line_.text.empty()) return false;
  if (std::ranges::find(arrows, key.kind) == std::end(arrows)) return false;
  show_cell(resolve_cell(walk_, "", last_matrix()));
  prompt_ = Prompt::nothing;
  message_.clear();
  (this->*StepperKeys::action(key, true))();
  return true;
}

void Stepper::press_in_prompt(const Key& key) {
  if (picks_cell(key)) return;
  switch (key.kind) {
    case Key::Kind::enter: return finish_prompt();
    case Key::Kind::tab: return complete();
    case Key::Kind::page_up: return page_up();
    case Key::Kind::page_down: return page_down();
    case Key::Kind::up: return scroll_up();
    case Key::Kind::down: return scroll_down();
    case Key::Kind::escape:
      if (prompt_ == Prompt::answer && line_.text.empty()) return quit();
      message_.clear();
      if (prompt_ != Prompt::answer) prompt_ = Prompt::nothing;
      line_ = {};
      return;
    default: break;
  }
  // Ctrl-D on an empty line ends the input, as in a shell.
  if (key == end_of_input && line_.text.empty()) return quit();
  line_ = edited(line_, key);
}

void Stepper::complete() {
  std::vector<std::string> names;
  if (prompt_ == Prompt::step) names = steps_with_prefix(walk_, line_.text);
  if (prompt_ == Prompt::change) names = givens_with_prefix(walk_, line_.text);
  std::string common = common_beginning(names);
  if (prompt_ == Prompt::change && names.size() == 1) common += "[";
  if (common.size() > line_.text.size()) line_ = {common, common.size()};
}

void Stepper::finish_prompt() {
  const std::string text = line_.text;
  const Prompt asked = prompt_;
  message_.clear();
  const bool nothing_typed = text.find_first_not_of(' ') == std::string::npos;
  if (asked == Prompt::answer) return finish_answer(text);
  if (asked == Prompt::cell) {
    show_cell(resolve_cell(walk_, text, last_matrix()));
  } else if (!nothing_typed && asked == Prompt::step) {
    go_to(walk_, text);
    prompt_ = Prompt::nothing;
    return arrive();
  } else if (!nothing_typed && asked == Prompt::change) {
    message_ = set_cell(walk_, text);
  } else if (!nothing_typed && asked == Prompt::directory) {
    message_ = write_all_(*walk_.now, text);
  }
  prompt_ = Prompt::nothing;
}

void Stepper::finish_answer(const std::string& text) {
  if (text == "q") return quit();
  const QuizReply reply = quiz_->answer(walk_, text);
  line_ = {};
  scroll_ = 0;
  if (quiz_->is_open()) return;  // the page says why
  message_ = reply.message;
  prompt_ = Prompt::nothing;
  if (reply.worked) show_cell(*reply.worked);
}

}  // namespace qkv::inline interactive
