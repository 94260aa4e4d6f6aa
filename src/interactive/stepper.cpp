#include "interactive/stepper.hpp"

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
    : SteppingSession(std::move(walk), std::move(quiz), std::move(write_all)) {
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
  if (view_ == View::cell && walk_.style.picture == Picture::glyphs) message_ = next_picture(walk_);
}

void Stepper::arrive() {
  scroll_ = 0;
  cell_.reset();
  view_ = View::step;
  if (quiz_ && quiz_->ask(walk_)) ask(Prompt::answer);
}

// To the step itself, below the lesson's introduction.
void Stepper::come_back() {
  arrive();
  if (walk_.at == walk_.start_at) scroll_ = lines_of(lesson_intro(walk_, window_.columns)).size();
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
  if (view_ == View::summary || step_back(walk_)) return come_back();
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
    throw InputError("{} is given: there is nothing to work out; s sets it", cell.name);
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
  if (!contains(arrows, key.kind)) return false;
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
  if (prompt_ == Prompt::step) names = names_with_prefix(walk_.trace().steps, line_.text);
  if (prompt_ == Prompt::change) names = names_with_prefix(walk_.trace().givens, line_.text);
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
    return come_back();
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

// A key of the decoder: a letter, or a kind.
struct Press {
  constexpr Press() = default;
  constexpr Press(char c) : kind(Key::Kind::text), letter(c) {}
  constexpr Press(Key::Kind one) : kind(one) {}

  Key::Kind kind = Key::Kind::unknown;
  char letter = 0;
};

namespace {

using Kind = Key::Kind;

constexpr long any_width = 1L << 40;  // more columns than any matrix has
constexpr CellMove next_matrix{.matrices = 1};

template <class... Keys>
constexpr std::array<Press, 3> on(Keys... keys) {
  return {Press(keys)...};
}

bool is(const Press& press, const Key& key) {
  if (press.kind != key.kind || press.kind == Kind::unknown) return false;
  return key.kind != Kind::text || key.text == std::string_view(&press.letter, 1);
}

}  // namespace

struct StepperKeys::Binding {
  std::array<Press, 3> presses;
  Action does = nullptr;
  std::string_view keys = {};   // in the help; empty if the row above covers it
  std::string_view help = {};   // the help's description
  std::string_view brief = {};  // for the status line
};

std::span<const StepperKeys::Binding> StepperKeys::of_step() {
  static constexpr Binding rows[] = {
      {on(Kind::enter, ' '), &Stepper::read_on, "Enter, Space",
       "reads on: the rest of the step, then the next one", "Enter next"},
      {on(Kind::right), &Stepper::next_step, "→", "the next step at once"},
      {on('n'), &Stepper::go_on, "n", "the same; after the last step the next lesson"},
      {on('b', Kind::left, 'p'), &Stepper::previous_step, "b, ←", "the step before", "b back"},
      {on('g'), &Stepper::asks<Stepper::Prompt::step>, "g", "goes to a step, by number or name",
       "g go"},
      {on('e'), &Stepper::asks<Stepper::Prompt::cell>, "e",
       "explains a cell; then the arrows move from cell to cell", "e explain"},
      {on('a'), &Stepper::tells<answers>, "a", "answers the questions at the lesson's end",
       "a answers"},
      {on(Kind::down, 'j'), &Stepper::scroll_down, "↓ ↑, j k", "scroll by a line"},
      {on(Kind::up, 'k'), &Stepper::scroll_up},
      {on(Kind::page_down), &Stepper::page_down, "PgDn PgUp", "scroll by a screen"},
      {on(Kind::page_up), &Stepper::page_up},
      {on(Kind::home), &Stepper::to_top, "Home End", "the step's beginning, its end"},
      {on(Kind::end), &Stepper::to_end},
  };
  return rows;
}

std::span<const StepperKeys::Binding> StepperKeys::of_cell() {
  static constexpr Binding rows[] = {
      {on(Kind::left), &Stepper::moves<CellMove{.columns = -1}>, "← → ↑ ↓",
       "the cell beside, above, below", "arrows move"},
      {on(Kind::right), &Stepper::moves<CellMove{.columns = 1}>},
      {on(Kind::up), &Stepper::moves<CellMove{.rows = -1}>},
      {on(Kind::down), &Stepper::moves<CellMove{.rows = 1}>},
      {on(Kind::tab), &Stepper::moves<next_matrix>, "Tab, Shift-Tab",
       "the same cell in the next head or sentence, in the one before", "Tab next head"},
      {on(Kind::back_tab), &Stepper::moves<CellMove{.matrices = -1}>},
      {on(Kind::page_down), &Stepper::moves<CellMove{.rows = 10}>, "PgDn PgUp",
       "ten rows down, up"},
      {on(Kind::page_up), &Stepper::moves<CellMove{.rows = -10}>},
      {on(Kind::home), &Stepper::moves<CellMove{.columns = -any_width}>, "Home End",
       "the first and the last cell of the row"},
      {on(Kind::end), &Stepper::moves<CellMove{.columns = any_width}>},
      {on('j'), &Stepper::scroll_down, "j k", "scroll, where not all fits"},
      {on('k'), &Stepper::scroll_up},
      {on(Kind::escape, 'e', Kind::enter), &Stepper::leave_cell, "Esc, e, Enter",
       "back to the step", "e leave"},
      {on(' '), &Stepper::leave_cell},
      {on('g'), &Stepper::asks<Stepper::Prompt::step>},
      {on('b'), &Stepper::leave_cell},
  };
  return rows;
}

std::span<const StepperKeys::Binding> StepperKeys::of_both() {
  static constexpr Binding rows[] = {
      {on('?'), &Stepper::show_keys, "?", "these keys", "? keys"},
      {on('q'), &Stepper::quit, "q", "quits", "q quit"},
      {on('s'), &Stepper::asks<Stepper::Prompt::change>, "s",
       "sets a given's cell; numbers that change are marked with *", "s set"},
      {on('u'), &Stepper::tells<undo>, "u", "undoes the last change"},
      {on('+', '='), &Stepper::tells<[](Walkthrough& walk) { return more_digits(walk, 1); }>, "+ -",
       "more decimals, fewer", "+ - digits"},
      {on('-', '_'), &Stepper::tells<[](Walkthrough& walk) { return more_digits(walk, -1); }>},
      {on('h'), &Stepper::picture, "h", "heatmap, dots or numbers only", "h heatmap/dots"},
      {on('c'), &Stepper::code, "c", "the lines of NumPy and PyTorch, or not", "c code"},
      {on('x'), &Stepper::asks<Stepper::Prompt::directory>, "x",
       "exports every matrix to a directory", "x export"},
  };
  return rows;
}

StepperKeys::Action StepperKeys::action(const Key& key, bool in_cell) {
  for (const auto& table : {in_cell ? of_cell() : of_step(), of_both()}) {
    for (const Binding& binding : table) {
      const auto pressed = [&](const Press& press) { return is(press, key); };
      if (std::any_of(binding.presses.begin(), binding.presses.end(), pressed)) return binding.does;
    }
  }
  return nullptr;
}

std::string StepperKeys::help(std::size_t columns) {
  constexpr std::size_t widest = 14;
  struct Section {
    std::string_view title;
    std::span<const Binding> rows;
  };
  const Section parts[] = {
      {"Keys", of_step()},
      {"", of_both()},
      {"While a cell is explained", of_cell()},
      {"While typing: Enter takes it, Esc leaves it, Tab completes names", {}}};
  // In a narrow window the description goes below the key.
  const bool narrow = columns < widest + 24;
  const std::size_t margin = narrow ? 4 : widest + 4;
  const std::size_t room = std::max(columns, margin + 8) - margin;
  std::string text;
  for (const Section& part : parts) {
    if (!part.title.empty()) {
      text += text.empty() ? "" : "\n";
      text += indented_lines(wrapped(part.title, std::max<std::size_t>(columns, 8)), 0);
    }
    for (const Binding& row : part.rows) {
      if (row.keys.empty()) continue;
      const std::string start = "  " + padded_right(row.keys, widest) + "  ";
      if (narrow) text += fmt::format("  {}\n", row.keys);
      text +=
          hanging_lines(narrow ? std::string(margin, ' ') : start, wrapped(row.help, room), margin);
    }
  }
  return text;
}

std::string StepperKeys::status(const StatusLine& what, std::size_t columns) {
  std::vector<std::string_view> own;
  for (const Binding& row : what.in_cell ? of_cell() : of_step()) {
    const bool idle = (row.does == &Stepper::moves<next_matrix> && !what.has_heads) ||
                      (row.does == &Stepper::tells<answers> && !what.has_answers);
    if (!row.brief.empty() && !idle) own.push_back(row.brief);
  }
  const auto has_brief = [](const Binding& row) { return !row.brief.empty(); };
  const auto common = filtered(of_both(), has_brief, &Binding::brief);
  if (!what.in_cell && !what.at_end.empty()) own.front() = what.at_end;
  if (!what.in_cell && what.hidden > 0) own.front() = "Enter more";
  // In order of importance: how to go on, how to get help, how to quit.
  std::vector<std::string_view> wanted = {own[0], common[0], common[1]};
  wanted.insert(wanted.end(), own.begin() + 1, own.end());
  wanted.insert(wanted.end(), common.begin() + 2, common.end());
  std::size_t needed = 0;
  for (std::size_t i = 0; i < 3; ++i) needed += 2 + width(wanted[i]);
  std::string text = fmt::format("{} {}", what.number, what.name);
  if (what.hidden > 0) text += fmt::format(" ({} more)", what.hidden);
  if (width(text) + needed > columns) {
    text = what.hidden > 0 ? fmt::format("{} ↓{}", what.number, what.hidden) : what.number;
  }
  for (const std::string_view brief : wanted) {
    if (width(text) + 2 + width(brief) > columns) break;
    text.append("  ").append(brief);
  }
  return shortened(text, columns);
}

}  // namespace qkv::inline interactive
