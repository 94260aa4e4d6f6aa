#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interactive/cell_view.hpp"
#include "interactive/walkthrough.hpp"
#include "lesson/lesson.hpp"
#include "trace/reference.hpp"

namespace qkv::inline interactive {

/// What to say to an answer.
struct QuizReply {
  std::string says;
  std::optional<CellReference> worked = {};  ///< whose arithmetic is due
};

/// Asks for one cell of each step before the step is shown. Two tries, then the arithmetic.
class Quiz {
 public:
  explicit Quiz(std::uint32_t seed) : seed_(seed) {}

  /// Opens the question of the walk's step; false where the step has been asked already or has no
  /// cell worth asking for.
  bool ask(const Walkthrough& walk);
  bool is_open() const { return cell_.has_value(); }

  /// How many questions have been tried or skipped.
  std::size_t answered() const { return tried().size(); }

  /// What is asked, and what is needed to work it out: the formula and the operands.
  std::string question(const Walkthrough& walk, WindowSize window, MatrixCache& matrix_cache) const;

  /// What to type at: `scores[cat,fat] = `.
  std::string prompt(const Walkthrough& walk) const;

  /// What was said to the last answer, while the question is open; empty before the first.
  const std::string& last_reply() const { return last_reply_; }

  /// Judges an answer. "s" skips; a blank one costs nothing. The question closes when it is
  /// answered right, skipped, or answered wrong twice.
  QuizReply answer(const Walkthrough& walk, std::string_view text);

  /// What was right, step by step, and where to read again about what was missed. `columns` wide.
  std::string summary(const Walkthrough& walk, std::size_t columns) const;

 private:
  enum class Outcome { first_try, second_try, missed, skipped };
  struct Result {
    std::string step;
    std::string cell;
    const Operation* operation = nullptr;
    Outcome outcome = Outcome::skipped;
    std::string mistake = {};  ///< the known mistake that was made, in words
  };

  std::string name(const Walkthrough& walk) const;
  QuizReply evaluate_answer(const Walkthrough& walk, std::string_view text);
  QuizReply missed(const Walkthrough& walk, std::string_view written, const std::string& why);
  std::span<const Result> tried() const;  ///< those that were tried
  void close(Outcome outcome);
  std::string where_to_read(const Walkthrough& walk) const;

  std::uint32_t seed_;
  std::optional<CellReference> cell_;
  int tries_ = 0;
  std::string last_reply_;
  std::vector<Result> results_;
};

/// A cell of the step that is worth asking for: worked out rather than taken over, from few enough
/// cells for work by hand, and neither hidden nor 0 or 1. The same seed asks for the same cell.
/// Nothing where the step has no such cell.
std::optional<CellReference> question_cell(const Trace& trace, const Step& step,
                                           std::uint32_t seed);

/// The built-in lesson to read about an operation: the one that says that it explains it. Nothing
/// where none does, or `lesson` itself is the one.
std::optional<std::string> lesson_about(const Operation& operation, const Lesson& lesson);

}  // namespace qkv::inline interactive
