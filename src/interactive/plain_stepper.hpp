#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "interactive/quiz.hpp"
#include "interactive/stepper.hpp"
#include "interactive/walkthrough.hpp"

namespace qkv::inline interactive {

/// Line-based stepping, for any terminal, screen reader and pipe: nothing is redrawn.
class PlainStepper {
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

  bool is_over() const { return over_; }

  const Walkthrough& walk() const { return walk_; }
  const std::optional<Quiz>& quiz() const { return quiz_; }

 private:
  friend struct PlainCommands;

  std::string arrive();
  std::string shown() const;
  std::string step_then_next();
  std::string indented(std::string_view message) const;
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

  Walkthrough walk_;
  std::optional<Quiz> quiz_;
  WriteAll write_all_;
  std::size_t columns_;
  MatrixCache matrix_cache_;
  bool over_ = false;
};

/// Returns the command that resumes the session with all its settings, to paste into a shell. It is
/// empty if nothing would be lost: no changes, and still at the first step, or at the end.
/// At the end of a lesson of the course it names the next one.
/// `options` are command-line words to keep. Example: `To go on from here: qkv run the-fat-cat
/// --set 'X[1,1]=2' --from scores`.
std::string resume_command(const Walkthrough& walk, const std::optional<Quiz>& quiz,
                           std::string_view options);

}  // namespace qkv::inline interactive
