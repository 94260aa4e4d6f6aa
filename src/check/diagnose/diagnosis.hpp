#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/judge/judge.hpp"

namespace qkv::inline check {

/// A known mistake that makes the learner's wrong numbers.
struct Diagnosis {
  std::string_view id;
  std::string says;
  std::string_view hint;
  std::size_t cells = 0;  ///< how many wrong cells it explains
  bool sure = true;       ///< not one of several that it could be
};

/// The mistakes that explain the wrong cells of a node, or its wrong shape, best first; empty where
/// no known mistake makes these numbers.
std::vector<Diagnosis> diagnose(const Judgement& judgement, const Trace& trace, std::size_t node);

/// Every id that diagnose can name outside the operations' own: the slips of the pen.
std::vector<std::string_view> slip_ids();

/// From an index to another, both included.
struct IndexRange {
  std::size_t from = 0;
  std::size_t to = 0;
  std::size_t size() const { return to - from + 1; }
};

/// Where the wrong cells of a matrix are, and what they have in common.
struct Region {
  enum class What {
    anything,  ///< nothing in common
    zero,      ///< all are 0
    nan,       ///< none is a number
    constant,  ///< all are the same
    multiple,  ///< all are what they should be times one factor
    offset     ///< every row is off by the same
  };
  std::vector<IndexRange> axes;  ///< one an axis, leading axes first
  What what = What::anything;
  double factor = 1;                ///< of a multiple
  std::vector<double> offset = {};  ///< of each column, or one for all
  std::size_t wrong = 0;            ///< how many cells of it are wrong
  bool is_whole = false;            ///< nothing of the tensor is outside
};

/// The block that the wrong cells of a matrix fill, if they do: whatever else is in it is blank,
/// hidden, or has the same in common. Nothing of fewer than two.
std::optional<Region> region_of(const LearnerNode& node);

/// The cells of a tensor of that shape that are in the region, in order.
std::vector<std::size_t> cells_in(const Region& region, const Shape& shape);

}  // namespace qkv::inline check
