#pragma once

#include <vector>

#include "trace/trace.hpp"

namespace qkv::inline check {

/// A number of operations that may still be spent. One operation is a multiplication with its
/// addition. They are counted, not timed, so that every machine tries the same mistakes.
class WorkBudget {
 public:
  explicit WorkBudget(double operations) : left_(operations) {}

  /// Takes operations. Returns false, and takes none, if fewer are left.
  bool take(double operations) {
    if (operations > left_) return false;
    left_ -= operations;
    return true;
  }

  double left() const { return left_; }

 private:
  double left_;
};

/// What diagnosis may do for all matrices of one submission. It has two parts, so that a search
/// through steps that were not submitted leaves enough for the next matrices' own mistakes.
struct DiagnosisBudget {
  explicit DiagnosisBudget(const Trace& trace);

  std::vector<double> work;  ///< operations of each node: 0 for a given, then the steps
  WorkBudget own;            ///< for mistakes in a submitted step itself
  WorkBudget unsubmitted;    ///< for mistakes in the unsubmitted steps before it
};

}  // namespace qkv::inline check
