#pragma once

#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "check/diagnose/diagnosis.hpp"
#include "check/diagnose/hypothesis.hpp"
#include "check/diagnose/slips.hpp"
#include "check/judge/judge.hpp"
#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline check {

/// The mismatch to explain: written numbers, expected numbers and wrong cells of one matrix.
struct Mismatch {
  Shape shape;
  std::vector<double> written;    ///< NaN where blank
  std::vector<bool> is_masked;    ///< finite masks: very low numbers that stand for -inf
  std::vector<double> tolerance;  ///< one unit, with slack
  std::vector<bool> wrong;
  std::span<const double> right = {};  ///< computed from the learner's own numbers
  std::vector<double> exact;  ///< required values where no rounding occurs; else empty or NaN
  double floor = 0;           ///< tolerance of `exact`
  bool are_shares =
      false;  ///< numbers in [0, 1]; a 1 is weak evidence, since many mistakes give it

  std::size_t rows() const { return shape.size() < 2 ? 1 : shape[shape.size() - 2]; }
  std::size_t columns() const { return shape.back(); }
};

/// A candidate that explains wrong cells.
struct Explanation {
  std::size_t candidate = 0;    ///< its index among the candidates
  std::size_t cells = 0;        ///< number of wrong cells that it explains
  std::size_t first = 0;        ///< the first of them
  bool sure = true;             ///< false if others match equally and few cells are evidence
  bool is_alternative = false;  ///< explains the same cells as the one before it
};

/// Returns the candidates that explain the wrong cells, best first. A full explanation covers all
/// wrong cells in one part (whole, matrix, row, column, cell). There every attempted cell, right or
/// wrong, matches within a unit. If there is none, it takes the candidate that explains most: at
/// least two cells and half of the wrong ones. It may contradict at most half as many right cells
/// of its part. The rest is explained in turn. A candidate must explain a number that is neither 0
/// nor infinite, unless its evidence allows these.
std::vector<Explanation> explain_mismatch(const Mismatch& mismatch,
                                          const std::vector<Candidate>& candidates);

/// True if a matrix is small enough to be written, and rounded, by hand.
bool is_by_hand(std::size_t cells);

/// All candidates for a matrix: the numbers that each known mistake and slip would produce, the
/// likeliest first: of the step itself, then of the unsubmitted steps before it, as far as the
/// budget allows. References must outlive it.
class CandidateSet {
 public:
  CandidateSet(const Judgement& judgement, const Trace& trace, std::size_t node,
               const Mismatch& mismatch, const Region* region, DiagnosisBudget& budget);
  CandidateSet(const CandidateSet&) = delete;
  CandidateSet& operator=(const CandidateSet&) = delete;

  const std::vector<Candidate>& candidates() const { return candidates_; }
  std::size_t untried() const { return untried_; }  ///< steps whose mistakes were not all tried

  /// Adds tolerance for rounding in unsubmitted steps to the candidates made there. Returns whether
  /// there are any.
  bool allow_rounding();

 private:
  // A hypothesis, what the step is under it, and the steps as mistakes see them.
  struct Assumption {
    Hypothesis numbers;
    Tensor right;
    std::vector<StepView> steps = {};
  };

  // Where a mistake is made, and what leads from there to the matrix.
  struct Origin {
    std::size_t at;
    std::vector<std::size_t> path;
    double work;  // operations for one candidate
  };

  // What to start from, where, how long, and where the candidates go.
  struct Search {
    const Assumption& assumption;
    const Origin& origin;
    WorkBudget& budget;
    std::vector<Candidate>& found;
  };

  // The candidates that were made in one unsubmitted step.
  struct UnsubmittedRange {
    const Assumption* assumption;
    const Origin* origin;
    std::size_t from, to;  // indices of candidates
    double work;
  };

  void assume(Hypothesis numbers, Tensor right, std::deque<Assumption>& assumptions) const;
  Origin origin_at(std::size_t at) const;
  void collect_own(const Assumption& assumption);
  void collect_unsubmitted();
  bool made_in(const Search& search) const;
  bool collect_mistakes(const Search& search, std::span<const Mistake> mistakes, double work) const;
  bool collect_unsubmitted_slips(const Search& search) const;
  bool add_carried(const Search& search, Candidate made) const;
  void collect_slips(const Assumption& assumption);
  bool is_worth_keeping(const Tensor& numbers) const;
  void allow_rounding(const UnsubmittedRange& unsubmitted, const std::deque<Assumption>& draws);

  const Judgement& judgement_;
  const Trace& trace_;
  const std::size_t index_;
  const LearnerNode& node_;
  const Mismatch& mismatch_;
  const Region* region_;  // nullptr if the wrong cells form no block
  DiagnosisBudget& budget_;
  Tensor written_;  // as mistakes see it; without axes if it has another shape
  std::size_t untried_ = 0;
  std::vector<std::size_t> unsubmitted_before_;
  std::vector<std::size_t> probes_;  // some wrong cells of a large matrix; else empty
  std::deque<Assumption> assumptions_;
  std::deque<Origin> origins_;
  std::deque<SlipContext> contexts_;
  std::vector<Candidate> candidates_;
  std::vector<UnsubmittedRange> unsubmitted_;
};

}  // namespace qkv::inline check
