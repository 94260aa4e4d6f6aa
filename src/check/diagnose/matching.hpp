#pragma once

#include <deque>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "check/diagnose/hypothesis.hpp"
#include "check/diagnose/slips.hpp"
#include "check/judge/judge.hpp"
#include "ops/operation.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline check {

/// Where a version comes from, the one that says most first: a mistake's own numbers; numbers that
/// were fitted to what was written (whose head's, which bias); a slip of the pen.
enum class CandidateKind { mistake, fitted, slip };

/// One set of numbers that a mistake would make of a whole matrix.
struct Candidate {
  std::string_view id;
  std::string_view says;
  std::string_view hint;
  CandidateKind kind = CandidateKind::mistake;
  SlipScope scope = SlipScope::anything;
  CandidateValues numbers;
  /// How far each number may be off beside a unit, where steps between that were not handed in left
  /// room for rounding; else empty.
  std::vector<double> room = {};
  Evidence evidence = {};
  std::size_t step = 0;  ///< the place of the one where it was made: this one, or on the way
  /// More about what happened in a cell: "0.5 · 2 is missing"; empty where the id says it all.
  std::function<std::string(std::size_t cell)> detail = {};
};

/// What is to be explained: the learner's cells of one matrix.
struct Mismatch {
  Shape shape;
  std::vector<double> written;    ///< NaN where blank
  std::vector<bool> hides;        ///< a very low number that stands for -inf
  std::vector<double> tolerance;  ///< a unit, with its slack
  std::vector<bool> wrong;
  std::span<const double> right = {};  ///< what follows from the learner's own numbers
  std::vector<double> exact;  ///< what cells with nothing to round must be; else empty or NaN
  double floor = 0;           ///< how near they must be
  bool are_shares = false;    ///< of 1: a share that is all of it comes of many a mistake

  std::size_t rows() const { return shape.size() < 2 ? 1 : shape[shape.size() - 2]; }
  std::size_t columns() const { return shape.back(); }
};

/// A version that explains wrong cells.
struct Explanation {
  std::size_t version = 0;  ///< its place among the versions
  std::size_t cells = 0;    ///< how many of them
  std::size_t first = 0;    ///< the first one
  bool sure = true;         ///< others fit as well, and few cells speak
};

/// The versions that explain the puzzle's wrong cells, best first. Those that explain all of them
/// do so in one part (the whole, a matrix, a row, a column, a cell) in which every attempted cell,
/// right or wrong, fits within a unit. Where none does, the one that explains the most, at least
/// two and half of them, and contradicts the right ones in its part no more than half as often;
/// then, for what it leaves over, the next. A version must explain a number that is neither 0 nor
/// infinite, unless it makes such numbers.
std::vector<Explanation> explain_mismatch(const Mismatch& mismatch,
                                          const std::vector<Candidate>& candidates);

/// Nobody slips with the pen in a matrix of a quarter of a million cells, nor rounds it by hand.
bool is_by_hand(std::size_t cells);

/// All that may have gone wrong in a matrix: what each known mistake and each slip makes of it,
/// from the numbers that the learner may have worked from. What it is made of must outlive it.
class CandidateSet {
 public:
  CandidateSet(const Judgement& judgement, const Trace& trace, std::size_t node,
               const Mismatch& mismatch);
  CandidateSet(const CandidateSet&) = delete;
  CandidateSet& operator=(const CandidateSet&) = delete;

  const std::vector<Candidate>& candidates() const { return candidates_; }

  /// Gives those of steps that were not handed in the room that rounding leaves on the way; whether
  /// there are any.
  bool allow_rounding();

 private:
  // Where a version was made that came through steps that were not handed in.
  struct UnsubmittedRange {
    std::size_t hypothesis;
    std::size_t from, to;  // versions
  };

  void collect(std::size_t hypothesis);
  void collect_unsubmitted_slips(const Hypothesis& hypothesis, std::size_t at,
                                 std::vector<Candidate>& candidates) const;
  void collect_mistakes(const Hypothesis& hypothesis, std::span<const std::size_t> places,
                        std::vector<Candidate>& candidates) const;
  void collect_wrong_heads(const Hypothesis& hypothesis);
  void collect_slips(const Hypothesis& hypothesis, const Tensor& right);
  bool is_worth_keeping(const Tensor& numbers) const;
  std::vector<Candidate> unsubmitted_candidates(const Hypothesis& hypothesis) const;

  const Judgement& judgement_;
  const Trace& trace_;
  const std::size_t index_;
  const LearnerNode& node_;
  const Mismatch& mismatch_;
  Tensor written_;  // as mistakes see it; without axes where it has another shape
  std::vector<std::size_t> unsubmitted_before_;
  std::vector<std::size_t> probes_;  // of a large matrix some wrong cells; else none
  std::vector<std::size_t> zeros_;   // the cells of a block of zeros
  std::vector<Hypothesis> hypotheses_;
  std::deque<Tensor> rights_;
  std::deque<SlipContext> contexts_;
  std::vector<Candidate> candidates_;
  std::vector<UnsubmittedRange> unsubmitted_;
};

}  // namespace qkv::inline check
