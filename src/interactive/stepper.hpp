#pragma once

#include "interactive/quiz.hpp"

namespace qkv::inline interactive {

/// Writes every matrix of the lesson to a directory and returns a message; throws InputError.
using WriteAll = std::function<std::string(const LoadedLesson&, const std::string& directory)>;

/// What both ways of stepping have: the walk, its quiz, and whether it is over.
class SteppingSession {
 public:
  bool is_over() const { return over_; }
  const Walkthrough& walk() const { return walk_; }
  const std::optional<Quiz>& quiz() const { return quiz_; }

 protected:
  SteppingSession(Walkthrough walk, std::optional<Quiz> quiz, WriteAll write_all)
      : walk_(std::move(walk)), quiz_(std::move(quiz)), write_all_(std::move(write_all)) {}

  Walkthrough walk_;
  std::optional<Quiz> quiz_;
  WriteAll write_all_;
  bool over_ = false;
};

/// Full-screen stepping as a state machine without a terminal: keys in, frames out.
class Stepper : public SteppingSession {
 public:
  Stepper(Walkthrough walk, std::optional<Quiz> quiz, WriteAll write_all);

  void resize(WindowSize window);
  void press(const Key& key);
  Frame frame();

 private:
  enum class Prompt { nothing, step, cell, change, directory, answer };
  enum class View { step, cell, keys, message, summary };

  // The actions of keys.
  void read_on();
  void next_step();
  void go_on();
  void previous_step();
  void scroll_up() { scroll_ -= std::min<std::size_t>(scroll_, 1); }
  void scroll_down() { ++scroll_; }  // the frame limits it to the end
  void page_up() { scroll_ -= std::min(scroll_, std::max<std::size_t>(shown_rows_, 2) - 1); }
  void page_down() { scroll_ += std::max<std::size_t>(shown_rows_, 2) - 1; }
  void to_top() { scroll_ = 0; }
  void to_end() { scroll_ = page().size(); }
  // Keys that differ by a constant or a function: `asks` opens a prompt, `tells` shows the message
  // of what a function did to the walk, `moves` goes to another cell.
  template <Prompt what>
  void asks() {
    ask(what);
  }
  template <auto action>
  void tells() {
    message_ = action(walk_);
  }
  template <CellMove by>
  void moves() {
    cell_ = moved(walk_, *cell_, by);
  }
  void picture();
  void code() {
    message_ = toggle_code(walk_);
    if (view_ == View::cell) leave_cell(), to_top();  // the code stands at the step's beginning
  }
  void show_keys() { open_overlay(View::keys); }
  void quit() { over_ = true; }
  void leave_cell();

  // The tables of keys, from which the help and the status line are generated.
  using Action = void (Stepper::*)();
  struct Binding;
  static std::span<const Binding> step_keys();
  static std::span<const Binding> cell_keys();
  static std::span<const Binding> common_keys();
  static Action action_of(const Key& key, bool in_cell);  ///< nullptr if the key does nothing

  void arrive();
  void come_back();
  void ask(Prompt what);
  void handle(const Key& key);
  void press_in_prompt(const Key& key);
  void press_in_overlay(const Key& key);
  bool picks_cell(const Key& key);
  void open_overlay(View what);
  bool has_overlay() const { return view_ == View::keys || view_ == View::message; }
  void complete();
  void finish_prompt();
  void finish_answer(const std::string& text);
  void show_cell(const CellReference& cell);
  std::size_t last_matrix() const;

  std::string text();
  std::vector<std::string> page();
  std::vector<std::string> body(std::size_t rows);
  std::vector<std::string> hint() const;
  std::vector<std::string> notes(std::size_t most) const;
  std::string help() const;
  std::string status(std::size_t hidden) const;
  std::string position_and_keys(std::size_t hidden) const;
  std::string_view at_end() const;
  std::string prompt_label() const;
  void add_prompt(Frame& frame) const;

  WindowSize window_;
  View view_ = View::step;
  Prompt prompt_ = Prompt::nothing;
  LineEdit line_;
  std::optional<CellReference> cell_;
  std::optional<CellReference> left_;  // the last cell that was explained
  std::string message_;
  std::size_t scroll_ = 0;
  std::size_t scroll_before_cell_ = 0, scroll_before_help_ = 0;  // scroll positions to return to
  View before_ = View::step;    // the view below the help or a message
  std::size_t shown_rows_ = 0;  // lines above the messages
};

/// Line-based stepping, for any terminal, screen reader and pipe: nothing is redrawn.
class PlainStepper : public SteppingSession {
 public:
  PlainStepper(Walkthrough walk, std::optional<Quiz> quiz, WriteAll write_all, std::size_t columns);

  /// Returns the initial output: the first step, or its question.
  std::string begin();

  /// Returns the prompt that ends the output.
  std::string prompt() const;

  /// Returns the output for an input line.
  std::string answer(std::string_view line);

  /// Returns the output at the end of input: empty, or the quiz's summary.
  std::string end();

 private:
  struct Command;
  static std::span<const Command> commands();

  std::string arrive();
  std::string shown() const;
  std::string step_then_next();
  std::string indented(std::string_view message) const;
  // Commands without an argument: the message of what a function did to the walk, and for `shows`
  // the step after it.
  template <auto action>
  std::string tells(std::string_view) {
    return indented(action(walk_));
  }
  template <auto action>
  std::string shows(std::string_view) {
    const std::string message = indented(action(walk_));
    return message + shown();
  }
  std::string next(std::string_view);
  std::string back(std::string_view);
  std::string go(std::string_view step);
  std::string explain(std::string_view cell);
  std::string set(std::string_view change);
  std::string export_to(std::string_view directory);
  std::string help(std::string_view);
  std::string quit(std::string_view);
  std::string answered(std::string_view text);
  std::string arithmetic(const CellReference& cell) const;

  std::size_t columns_;
};

/// Returns the command that resumes the session with all its settings, to paste into a shell. It is
/// empty if nothing would be lost: no changes, and still at the first step, or at the end.
/// At the end of a lesson of the course it names the next one.
/// `options` are command-line words to keep. Example: `To go on from here: qkv run the-fat-cat
/// --set 'X[1,1]=2' --from scores`.
std::string resume_command(const Walkthrough& walk, const std::optional<Quiz>& quiz,
                           std::string_view options);

}  // namespace qkv::inline interactive
