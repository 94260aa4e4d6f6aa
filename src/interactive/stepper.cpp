#include "interactive/stepper.hpp"

namespace qkv::inline interactive {
namespace {

using Kind = Key::Kind;

const Key end_of_input{Kind::control, "d"};  // Ctrl-D
constexpr long any_width = 1L << 40;         // more columns than any matrix has
constexpr CellMove next_matrix{.matrices = 1};

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
  if (key.kind == Kind::end_of_input) return quit();
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
  const auto does = action_of(key, view_ == View::cell);
  if (does) (this->*does)();
}

// Shows the help, or a message for which the window has no room below the page.
void Stepper::open_overlay(View what) {
  before_ = std::exchange(view_, what);
  scroll_before_help_ = std::exchange(scroll_, 0);
}

// Scrolling keys scroll while there is something to scroll; others close.
void Stepper::press_in_overlay(const Key& key) {
  const auto does = action_of(key, false);
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
  if (walk_.at == walk_.step_range.first)
    scroll_ = lines_of(lesson_intro(walk_, window_.columns)).size();
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
  constexpr Kind arrows[] = {Kind::up, Kind::down, Kind::left, Kind::right};
  if (prompt_ != Prompt::cell || !line_.text.empty()) return false;
  if (!contains(arrows, key.kind)) return false;
  show_cell(resolve_cell(walk_, "", last_matrix()));
  prompt_ = Prompt::nothing;
  message_.clear();
  (this->*action_of(key, true))();
  return true;
}

void Stepper::press_in_prompt(const Key& key) {
  if (picks_cell(key)) return;
  switch (key.kind) {
    case Kind::enter: return finish_prompt();
    case Kind::tab: return complete();
    case Kind::page_up: return page_up();
    case Kind::page_down: return page_down();
    case Kind::up: return scroll_up();
    case Kind::down: return scroll_down();
    case Kind::escape:
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
  message_.clear();
  const bool nothing_typed = text.find_first_not_of(' ') == std::string::npos;
  if (prompt_ == Prompt::answer) return finish_answer(text);
  if (prompt_ == Prompt::cell) {
    show_cell(resolve_cell(walk_, text, last_matrix()));
  } else if (!nothing_typed && prompt_ == Prompt::step) {
    go_to(walk_, text);
    prompt_ = Prompt::nothing;
    return come_back();
  } else if (!nothing_typed && prompt_ == Prompt::change) {
    message_ = set_cell(walk_, text);
  } else if (!nothing_typed && prompt_ == Prompt::directory) {
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

struct Stepper::Binding {
  Kind kind;                 // a key's, or
  std::string_view letters;  // what it types
  Action does = nullptr;
  std::string_view keys = {};   // in the help; empty if the row above covers it
  std::string_view help = {};   // the help's description
  std::string_view brief = {};  // for the status line
};

std::span<const Stepper::Binding> Stepper::step_keys() {
  static constexpr Binding rows[] = {
      {Kind::enter, " ", &Stepper::read_on, "Enter, Space",
       "reads on: the rest of the step, then the next one", "Enter next"},
      {Kind::right, "", &Stepper::next_step, "→", "the next step at once"},
      {Kind::text, "n", &Stepper::go_on, "n", "the same; after the last step the next lesson"},
      {Kind::left, "bp", &Stepper::previous_step, "b, ←", "the step before", "b back"},
      {Kind::text, "g", &Stepper::asks<Stepper::Prompt::step>, "g",
       "goes to a step, by number or name", "g go"},
      {Kind::text, "e", &Stepper::asks<Stepper::Prompt::cell>, "e",
       "explains a cell; then the arrows move from cell to cell", "e explain"},
      {Kind::text, "a", &Stepper::tells<answers>, "a", "answers the questions at the lesson's end",
       "a answers"},
      {Kind::down, "j", &Stepper::scroll_down, "↓ ↑, j k", "scroll by a line"},
      {Kind::up, "k", &Stepper::scroll_up},
      {Kind::page_down, "", &Stepper::page_down, "PgDn PgUp", "scroll by a screen"},
      {Kind::page_up, "", &Stepper::page_up},
      {Kind::home, "", &Stepper::to_top, "Home End", "the step's beginning, its end"},
      {Kind::end, "", &Stepper::to_end},
  };
  return rows;
}

std::span<const Stepper::Binding> Stepper::cell_keys() {
  static constexpr Binding rows[] = {
      {Kind::left, "", &Stepper::moves<CellMove{.columns = -1}>, "← → ↑ ↓",
       "the cell beside, above, below", "arrows move"},
      {Kind::right, "", &Stepper::moves<CellMove{.columns = 1}>},
      {Kind::up, "", &Stepper::moves<CellMove{.rows = -1}>},
      {Kind::down, "", &Stepper::moves<CellMove{.rows = 1}>},
      {Kind::tab, "", &Stepper::moves<next_matrix>, "Tab, Shift-Tab",
       "the same cell in the next head or sentence, in the one before", "Tab next head"},
      {Kind::back_tab, "", &Stepper::moves<CellMove{.matrices = -1}>},
      {Kind::page_down, "", &Stepper::moves<CellMove{.rows = 10}>, "PgDn PgUp",
       "ten rows down, up"},
      {Kind::page_up, "", &Stepper::moves<CellMove{.rows = -10}>},
      {Kind::home, "", &Stepper::moves<CellMove{.columns = -any_width}>, "Home End",
       "the first and the last cell of the row"},
      {Kind::end, "", &Stepper::moves<CellMove{.columns = any_width}>},
      {Kind::text, "j", &Stepper::scroll_down, "j k", "scroll, where not all fits"},
      {Kind::text, "k", &Stepper::scroll_up},
      {Kind::escape, "e", &Stepper::leave_cell, "Esc, e, Enter", "back to the step", "e leave"},
      {Kind::enter, " b", &Stepper::leave_cell},
      {Kind::text, "g", &Stepper::asks<Stepper::Prompt::step>},
  };
  return rows;
}

std::span<const Stepper::Binding> Stepper::common_keys() {
  static constexpr Binding rows[] = {
      {Kind::text, "?", &Stepper::show_keys, "?", "these keys", "? keys"},
      {Kind::text, "q", &Stepper::quit, "q", "quits", "q quit"},
      {Kind::text, "s", &Stepper::asks<Stepper::Prompt::change>, "s",
       "sets a given's cell; numbers that change are marked with *", "s set"},
      {Kind::text, "u", &Stepper::tells<undo>, "u", "undoes the last change"},
      {Kind::text, "+=", &Stepper::tells<[](Walkthrough& walk) { return more_digits(walk, 1); }>,
       "+ -", "more decimals, fewer", "+ - digits"},
      {Kind::text, "-_", &Stepper::tells<[](Walkthrough& walk) { return more_digits(walk, -1); }>},
      {Kind::text, "h", &Stepper::picture, "h", "heatmap, dots or numbers only", "h heatmap/dots"},
      {Kind::text, "c", &Stepper::code, "c", "the lines of NumPy and PyTorch, or not", "c code"},
      {Kind::text, "x", &Stepper::asks<Stepper::Prompt::directory>, "x",
       "exports every matrix to a directory", "x export"},
  };
  return rows;
}

Stepper::Action Stepper::action_of(const Key& key, bool in_cell) {
  for (const auto& table : {in_cell ? cell_keys() : step_keys(), common_keys()}) {
    for (const Binding& binding : table) {
      const bool is_pressed = key.kind == Kind::text
                                  ? binding.letters.find(key.text) != std::string_view::npos
                                  : key.kind == binding.kind;
      if (is_pressed) return binding.does;
    }
  }
  return nullptr;
}

std::string Stepper::help() const {
  const std::size_t columns = window_.columns;
  constexpr std::size_t widest = 14;
  const std::pair<std::string_view, std::span<const Binding>> parts[] = {
      {"Keys", step_keys()},
      {"", common_keys()},
      {"While a cell is explained", cell_keys()},
      {"While typing: Enter takes it, Esc leaves it, Tab completes names", {}}};
  // In a narrow window the description goes below the key.
  const bool narrow = columns < widest + 24;
  const std::size_t margin = narrow ? 4 : widest + 4;
  const std::size_t room = std::max(columns, margin + 8) - margin;
  std::string text;
  for (const auto& [title, rows] : parts) {
    if (!title.empty()) {
      text += text.empty() ? "" : "\n";
      text += indented_lines(wrapped(title, std::max<std::size_t>(columns, 8)), 0);
    }
    for (const Binding& row : rows) {
      if (row.keys.empty()) continue;
      const std::string start = "  " + padded_right(row.keys, widest) + "  ";
      if (narrow) text += fmt::format("  {}\n", row.keys);
      text +=
          hanging_lines(narrow ? std::string(margin, ' ') : start, wrapped(row.help, room), margin);
    }
  }
  return text;
}

// The position, the number of hidden lines, and as many keys as fit. The step's name is dropped
// first.
std::string Stepper::position_and_keys(std::size_t hidden) const {
  const Step& step = walk_.step();
  const std::size_t columns = window_.columns;
  const bool in_cell = view_ == View::cell;
  const bool has_heads = step.output.matrices() > 1;
  const bool has_answers = !walk_.now->lesson.texts[walk_.at].answers.text.empty();
  std::vector<std::string_view> own;
  for (const Binding& row : in_cell ? cell_keys() : step_keys()) {
    const bool idle = (row.does == &Stepper::moves<next_matrix> && !has_heads) ||
                      (row.does == &Stepper::tells<answers> && !has_answers);
    if (!row.brief.empty() && !idle) own.push_back(row.brief);
  }
  const auto has_brief = [](const Binding& row) { return !row.brief.empty(); };
  const auto common = filtered(common_keys(), has_brief, &Binding::brief);
  if (const std::string_view end = at_end(); !in_cell && !end.empty()) own.front() = end;
  if (!in_cell && hidden > 0) own.front() = "Enter more";
  // In order of importance: how to go on, how to get help, how to quit.
  std::vector<std::string_view> wanted = {own[0], common[0], common[1]};
  wanted.insert(wanted.end(), own.begin() + 1, own.end());
  wanted.insert(wanted.end(), common.begin() + 2, common.end());
  std::size_t needed = 0;
  for (std::size_t i = 0; i < 3; ++i) needed += 2 + width(wanted[i]);
  const std::string number = fmt::format("{}/{}", step.number, walk_.now->trace.length);
  const bool at_map = walk_.at == walk_.step_range.first && view_ == View::step && scroll_ == 0 &&
                      2 * lines_of(lesson_intro(walk_, columns)).size() > shown_rows_;
  std::string text = fmt::format("{} {}", number, at_map ? "map" : step.name);
  if (hidden > 0) text += fmt::format(" ({} more)", hidden);
  if (width(text) + needed > columns) {
    text = hidden > 0 ? fmt::format("{} ↓{}", number, hidden) : number;
  }
  for (const std::string_view brief : wanted) {
    if (width(text) + 2 + width(brief) > columns) break;
    text.append("  ").append(brief);
  }
  return shortened(text, columns);
}

}  // namespace qkv::inline interactive
