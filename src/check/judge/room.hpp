#pragma once

#include <tuple>

#include "check/judge/exactness.hpp"

namespace qkv::inline check {

/// Whose numbers a step is computed from.
enum class Operands { own, lessons };

/// Finds how far rounding can move the cells of a step. If all operands were submitted, or are
/// exact, it bounds the step for all operands within one unit. Steps that were not submitted are
/// also computed in 32 trials, with each number moved within its unit. The result is the lesser of
/// the bounds and of what the trials show. The judgement, which may still grow, and the trace must
/// outlive it.
class Room {
 public:
  Room(const Judgement& judgement, const Trace& trace)
      : judgement_(judgement), trace_(trace), exactness_(judgement, trace) {}

  /// Returns the bounds of the step's wrong cells before they are rounded; in a large stretch wider
  /// ones, where a cell is outside these. `units` is the tolerance of the matrix at hand:
  /// intermediate numbers are rounded as its numbers are.
  Range of_step(const LearnerNode& node, const MatrixTolerance& units,
                Operands operands = Operands::own);

  /// Returns the fewest missing steps that would decide the step's undecided cells; empty if all
  /// operands were submitted: then only more digits would.
  std::vector<std::string> deciding_steps(const LearnerNode& node);

  Exactness& exactness() { return exactness_; }

 private:
  class Stretch;
  using Steps = std::set<std::size_t>;
  using Tensors = std::map<std::size_t, Tensor>;
  // What intermediate numbers are rounded to, and whose numbers they are.
  using Rounding = std::tuple<bool, double, Precision, int, int, Operands>;

  const Judgement& judgement_;
  const Trace& trace_;
  Exactness exactness_;
  std::map<Rounding, std::vector<Tensors>> trials_;  // the moved numbers of each trial
};

/// True if the number in a cell is within a unit of the range, and was not required to be exact.
bool is_within(const LearnerNode& node, const Range& range, std::size_t cell);

/// True if a cell's room decides nothing: it exceeds three units and a tenth of `typical`, the root
/// mean square of the right numbers of its matrix.
bool is_too_wide(double room, double unit, double typical);

/// Returns the root mean square of the right numbers of each matrix of the step.
std::vector<double> typical_numbers(const LearnerNode& node);

}  // namespace qkv::inline check
