#pragma once

#include <deque>
#include <vector>

#include "check/diagnose/hypothesis.hpp"
#include "check/diagnose/matching.hpp"
#include "check/diagnose/slips.hpp"
#include "check/judge/judge.hpp"

namespace qkv::inline check {

/// Nobody slips with the pen in a matrix of a quarter of a million cells, nor rounds it by hand.
bool is_by_hand(std::size_t cells);

/// All that may have gone wrong in a matrix: what each known mistake and each slip makes of it,
/// from the numbers that the learner may have worked from. What it is made of must outlive it.
class Suspects {
 public:
  Suspects(const Judgement& judgement, const Trace& trace, std::size_t node, const Puzzle& puzzle);
  Suspects(const Suspects&) = delete;
  Suspects& operator=(const Suspects&) = delete;

  const std::vector<Version>& versions() const { return versions_; }

  /// Gives those of steps that were not handed in the room that rounding leaves on the way; whether
  /// there are any.
  bool leave_room();

 private:
  // Where a version was made that came through steps that were not handed in.
  struct Unseen {
    std::size_t hypothesis;
    std::size_t from, to;  // versions
  };

  void collect(std::size_t hypothesis);
  void collect_unseen_slips(const Hypothesis& hypothesis, std::size_t at,
                            std::vector<Version>& versions) const;
  void collect_mistakes(const Hypothesis& hypothesis, std::span<const std::size_t> places,
                        std::vector<Version>& versions) const;
  void collect_other_heads(const Hypothesis& hypothesis);
  void collect_slips(const Hypothesis& hypothesis, const Tensor& right);
  bool is_worth_keeping(const Tensor& numbers) const;
  std::vector<Version> unseen_versions(const Hypothesis& hypothesis) const;

  const Judgement& judgement_;
  const Trace& trace_;
  const std::size_t index_;
  const LearnerNode& node_;
  const Puzzle& puzzle_;
  Tensor written_;  // as mistakes see it; without axes where it has another shape
  std::vector<std::size_t> unseen_before_;
  std::vector<std::size_t> probes_;  // of a large matrix some wrong cells; else none
  std::vector<std::size_t> zeros_;   // the cells of a block of zeros
  std::vector<Hypothesis> hypotheses_;
  std::deque<Tensor> rights_;
  std::deque<SlipContext> contexts_;
  std::vector<Version> versions_;
  std::vector<Unseen> unseen_;
};

}  // namespace qkv::inline check
