#pragma once

#include <string>
#include <vector>

#include "check/check.hpp"

namespace qkv::inline check {

/// The marks of a step: earned, and possible.
struct StepMarks {
  double marks = 0;
  double of = 0;
};

/// The marks of a submission.
struct Marks {
  std::vector<StepMarks> steps;         ///< one per step of the lesson
  std::vector<std::string> void_roots;  ///< givens and steps whose dependent cells earn nothing
  StepMarks total;
};

/// The marks that a lesson's steps are worth, computed once for a whole class. The lesson and its
/// trace must outlive it.
class Rubric {
 public:
  /// `carried` is the worth of a carried cell, relative to a correct one.
  Rubric(const Lesson& lesson, const Trace& trace, double carried = 1);

  /// Returns the marks of an unreadable submission: none.
  Marks nothing() const;
  Marks of(const CheckReport& report) const;
  const Trace& trace() const { return *trace_; }

 private:
  struct StepWorth {
    double marks = 0;            ///< for all of its cells that count
    std::size_t cells = 0;       ///< number of cells that count
    std::vector<bool> is_fixed;  ///< right for any numbers; empty if there are none
    bool counts(std::size_t cell) const { return is_fixed.empty() || !is_fixed[cell]; }
  };

  double earned(const StepReport& report, const StepWorth& worth,
                const std::vector<bool>& unearned) const;

  /// How many cells of a step are right, and how many would be by chance.
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
