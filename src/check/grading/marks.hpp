#pragma once

#include <string>
#include <vector>

#include "check/check.hpp"

namespace qkv::inline check {

/// What a step earned.
struct StepMarks {
  double marks = 0;
  double of = 0;
};

/// What a submission earned of a lesson's marks.
struct Marks {
  std::vector<StepMarks> steps;         ///< one for each step of the lesson
  std::vector<std::string> void_roots;  ///< the givens and steps that what rests on earns nothing
  StepMarks total;
};

/// What a lesson's steps are worth, worked out once for a whole class. The lesson
/// and its trace must outlive it.
class Rubric {
 public:
  /// `carried` is what a cell is worth that is only carried on.
  Rubric(const Lesson& lesson, const Trace& trace, double carried = 1);

  /// What an unreadable submission earns: nothing.
  Marks nothing() const;
  Marks of(const CheckReport& report) const;
  const Trace& trace() const { return *trace_; }

 private:
  struct StepWorth {
    double marks = 0;            ///< for all of its cells that count
    std::size_t cells = 0;       ///< that count
    std::vector<bool> is_fixed;  ///< right whatever the numbers: empty where none is
    bool counts(std::size_t cell) const { return is_fixed.empty() || !is_fixed[cell]; }
  };

  double earned(const StepReport& report, const StepWorth& worth,
                const std::vector<bool>& unearned) const;

  /// How much of a step's matrix is right, and how much would be by luck.
  struct ChanceLevel {
    double tried = 0;
    double right = 0;
    double expected = 0;
    bool is_much_wrong() const;
    bool is_no_more() const;
    double beyond() const;
  };
  ChanceLevel chance_level_of(const StepReport& report, const StepWorth& worth) const;

  std::vector<bool> roots_at_chance(const CheckReport& report) const;

  enum class Ungraded { nothing, what_follows, all };
  Ungraded ungraded_in(const StepReport& report, const StepWorth& worth) const;

  const Trace* trace_;
  double carried_;
  std::vector<StepWorth> worths_;
};

}  // namespace qkv::inline check
