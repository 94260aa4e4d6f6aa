#pragma once

#include "check/judge/judge.hpp"

namespace qkv::inline check {

/// A number of operations that may still be spent. One operation is a multiplication with its
/// addition. They are counted, not timed, so that every machine tries the same mistakes.
struct WorkBudget {
  double left = 0;

  /// Takes operations. Returns false, and takes none, if fewer are left.
  bool take(double operations) {
    if (operations > left) return false;
    left -= operations;
    return true;
  }
};

/// What diagnosis may do for all matrices of one submission. It has two parts, so that a search
/// through steps that were not submitted leaves enough for the next matrices' own mistakes.
struct DiagnosisBudget {
  explicit DiagnosisBudget(const Trace& trace);

  std::vector<double> work;  ///< operations of each node: 0 for a given, then the steps
  WorkBudget own;            ///< for mistakes in a submitted step itself
  WorkBudget unsubmitted;    ///< for mistakes in the unsubmitted steps before it
};

/// Where a candidate comes from, the most specific first: a mistake's own numbers; numbers fitted
/// to those written (which head, which bias); a transcription slip.
enum class CandidateKind { mistake, fitted, slip };

/// A known mistake that produces the learner's wrong numbers.
struct Diagnosis {
  std::string_view id;
  std::string says;
  std::string hint;
  std::size_t cells = 0;    ///< number of wrong cells that it explains
  bool sure = true;         ///< enough telling cells show it, and nothing speaks against it
  bool is_refuted = false;  ///< right cells contradict it, and a mistake before it makes all cells
  CandidateKind kind = CandidateKind::mistake;
  bool copies = false;    ///< its numbers are those of other cells
  std::size_t first = 0;  ///< the first of the cells that it explains
};

/// True if the mistakes explain the same cells of so many wrong ones: only one of them was made.
bool are_alternatives(std::span<const Diagnosis> likely, std::size_t wrong);

/// True if the first of the mistakes was made; else it is only possible.
bool is_certain(std::span<const Diagnosis> likely, std::size_t wrong);

/// A range of indices, both ends included.
struct IndexRange {
  std::size_t from = 0;
  std::size_t to = 0;
  std::size_t size() const { return to - from + 1; }
};

/// The block that the wrong cells of a matrix fill, and what they have in common.
struct Region {
  enum class What {
    anything,  ///< nothing in common
    zero,      ///< all are 0
    nan,       ///< all are NaN
    constant,  ///< all are the same
    multiple,  ///< all are the expected numbers times one factor
    offset     ///< all rows are off by the same numbers
  };
  std::vector<IndexRange> axes;  ///< one per axis, leading axes first
  What what = What::anything;
  double factor = 1;                ///< of a multiple
  std::vector<double> offset = {};  ///< of each column, or one for all
  std::size_t wrong = 0;            ///< number of wrong cells in it
  bool is_whole = false;            ///< it covers the tensor
};

/// Returns the tensor's cells in the region, in order.
std::vector<std::size_t> cells_in(const Region& region, const Shape& shape);

/// What diagnosis found out about one matrix.
struct NodeDiagnosis {
  std::vector<Diagnosis> mistakes;  ///< that explain the wrong cells or the wrong shape, best first
  std::optional<Region> region;     ///< empty if the wrong cells fill no block
  /// Number of steps, this one and unsubmitted ones before it, whose mistakes were not all tried
  /// because the budget was spent.
  std::size_t untried = 0;
};

/// Looks for the mistakes that explain the wrong cells or wrong shape of a node. All nodes of a
/// submission share the budget.
NodeDiagnosis diagnose(const Judgement& judgement, const Trace& trace, std::size_t node,
                       DiagnosisBudget& budget);

}  // namespace qkv::inline check
