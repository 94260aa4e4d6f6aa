#pragma once

#include "check/check.hpp"

namespace qkv::inline check {

/// The marks of a step: earned, and possible.
struct StepMarks {
  double marks = 0;
  double of = 0;
};

/// The marks of a submission.
struct Marks {
  std::vector<StepMarks> steps;          ///< one per step of the lesson
  std::vector<std::string> changed;      ///< givens whose dependent cells earn nothing
  std::vector<std::string> unexplained;  ///< steps whose dependent cells earn a share
  double taken = 0;                      ///< the marks that unexplained steps took away
  StepMarks total;
};

/// What cells earn that are neither right nor lost, relative to a correct one.
struct CellShares {
  double carried = 1;      ///< only carry an earlier mistake on
  double unexplained = 0;  ///< depend on a step that is mostly wrong for no known reason
};

/// The cells that a worksheet asked for, by step, row by row. Empty if it asked for all.
using AskedCells = std::map<std::string, std::vector<bool>, std::less<>>;

/// The marks that a lesson's steps are worth, computed once for a whole class. Of a part of a step
/// its share of the marks. The lesson and its trace must outlive it.
class Rubric {
 public:
  Rubric(const Lesson& lesson, const Trace& trace, const CellShares& shares = {},
         const AskedCells& asked = {});

  /// Returns the marks of an unreadable submission: none.
  Marks nothing() const;
  Marks of(const CheckReport& report) const;
  bool is_for_a_part() const { return !worths_.empty() && !worths_[0].is_asked.empty(); }
  /// True if a part was asked for, and each of its cells is right.
  bool has_part(const CheckReport& report) const;
  const Trace& trace() const { return *trace_; }

 private:
  struct StepWorth {
    double marks = 0;            ///< for all of its cells that count
    std::size_t cells = 0;       ///< number of cells that count in any case
    std::vector<bool> is_fixed;  ///< right for any numbers: count if wrong; empty if there are none
    std::vector<bool> is_asked;  ///< empty if all are
    bool asks(std::size_t cell) const { return is_asked.empty() || is_asked[cell]; }
    bool counts(std::size_t cell) const {
      return asks(cell) && (is_fixed.empty() || !is_fixed[cell]);
    }
  };

  /// Adds what a step earns. Empty masks have no cell.
  void add_step(const StepReport& report, std::size_t step, const std::vector<bool>& unearned,
                const std::vector<bool>& unexplained, Marks& marks) const;

  /// How many cells of a step are right, and how many would be by chance.
  struct ChanceLevel {
    double tried = 0;
    double right = 0;
    double expected = 0;
    void add(const ChanceLevel& step) {
      tried += step.tried;
      right += step.right;
      expected += step.expected;
    }
    bool is_much_wrong() const { return right < tried * 2 / 3; }
    /// Mostly wrong, and at most twice as many right cells as by chance.
    bool is_no_more() const { return is_much_wrong() && right <= 2 * expected; }
    /// The share of right cells beyond chance: 0 at chance level, 1 if all are right.
    double beyond() const {
      return tried <= expected ? 1 : (right - expected) / (tried - expected);
    }
  };
  /// `from_yours` are the step's numbers as they follow from the learner's own; empty: these do not
  /// count.
  ChanceLevel chance_level_of(const StepReport& report, const StepWorth& worth,
                              std::span<const double> from_yours = {}) const;

  std::vector<bool> roots_at_chance(const CheckReport& report) const;
  double beyond_chance(const CheckReport& report) const;

  bool has_only_zeros(const CheckReport& report) const;

  struct SheetLook {
    double beyond = 1;          ///< share of its cells that are right beyond chance
    std::vector<bool> by_luck;  ///< of each step: it depends on no other, and is right by chance
    bool only_zeros = false;
  };
  enum class Ungraded { nothing, what_follows, all };
  Ungraded ungraded_in(const StepReport& report, std::size_t step,
                       const std::vector<bool>& unexplained, const SheetLook& sheet) const;

  const Trace* trace_;
  CellShares shares_;
  std::vector<StepWorth> worths_;
};

}  // namespace qkv::inline check
