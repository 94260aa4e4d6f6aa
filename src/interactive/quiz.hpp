#pragma once

#include "interactive/walkthrough.hpp"

namespace qkv::inline interactive {

/// The reply to an answer.
struct QuizReply {
  std::string message;
  std::optional<CellReference> worked = {};  ///< the cell whose arithmetic is to be shown
};

/// Asks for one cell of each step before the step is shown. Two tries, then the arithmetic.
class Quiz {
 public:
  explicit Quiz(std::uint32_t seed) : seed_(seed) {}

  /// Asks for a cell of the current step; false if asked already, or if no cell is worth it.
  bool ask(const Walkthrough& walk);
  bool is_open() const { return cell_.has_value(); }

  /// Returns how many questions were tried or skipped.
  std::size_t answered() const { return tried().size(); }

  /// Returns the question with what is needed to answer it: the formula and the operands.
  std::string question(const Walkthrough& walk, WindowSize window) const;

  /// Returns what a quiz is and how to answer. The first question has it, too, unless this was
  /// called.
  std::string introduce();

  /// Returns the input prompt: `scores[cat,fat] = `.
  std::string prompt(const Walkthrough& walk) const;

  /// Evaluates an answer. "s" skips; a blank one does not count. The question closes when it is
  /// answered correctly, skipped, or answered wrong twice.
  QuizReply answer(const Walkthrough& walk, std::string_view text);

  /// Returns the results by step, and which lessons explain what was missed, wrapped to `columns`.
  std::string summary(const Walkthrough& walk, std::size_t columns) const;

 private:
  enum class Outcome { first_try, second_try, missed, skipped };
  struct Result {
    std::string step;
    std::string cell;
    const Operation* operation = nullptr;
    Outcome outcome = Outcome::skipped;
    std::string mistake = {};  ///< the known mistake that was surely made, as text
  };

  std::string name(const Walkthrough& walk) const;
  QuizReply evaluate_answer(const Walkthrough& walk, std::string_view text);
  QuizReply missed(const Walkthrough& walk, std::string_view written, const std::string& why);
  std::span<const Result> tried() const;  ///< without an untouched open question
  void close(Outcome outcome);
  std::string where_to_read(const Walkthrough& walk) const;

  std::uint32_t seed_;
  std::optional<CellReference> cell_;
  int tries_ = 0;
  std::string last_reply_;  // of the open question; empty before the first answer
  std::vector<Result> results_;
  bool is_introduced_ = false;
};

/// Returns a cell worth asking for: computed from few cells, and not 0 or 1. Of a mask's step it is
/// one that is hidden or kept, of joined heads one that is copied. With `head`, from 0, it is of
/// that head alone. Deterministic for a seed. Nothing if the step has no such cell.
std::optional<CellReference> question_cell(const Trace& trace, const Step& step, std::uint32_t seed,
                                           std::optional<std::size_t> head = {});

/// Returns the built-in lesson that explains an operation; nothing if there is no other one.
std::optional<std::string> lesson_about(const Operation& operation, const Lesson& lesson);

}  // namespace qkv::inline interactive
