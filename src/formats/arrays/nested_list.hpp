#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "formats/parsed_array.hpp"

namespace qkv {

/// One matrix while the brackets of its nested lists open and close.
class NestedList {
 public:
  static constexpr std::size_t deepest = 16;  ///< heads and batches are four

  /// What is wrong with the brackets, in words; nothing while all is well.
  using Fault = std::string;

  Fault open();
  Fault close();
  Fault add(Numeral cell);

  bool is_complete() const { return open_.empty(); }
  bool is_list_without_numbers() const {
    return open_.size() == 1 && open_.front() == 0 && !ranked_;
  }

  /// What was read, a single number as one axis of size 1.
  Written take();

 private:
  std::string entry(std::size_t depth, std::size_t extra) const;
  std::string place() const { return entry(open_.size(), 1); }       // of what comes next
  std::string parent() const { return entry(open_.size() - 1, 1); }  // of the innermost open list

  Shape shape_;
  Numerals cells_;
  std::vector<std::size_t> open_;  ///< how many entries each open list has so far
  bool ranked_ = false;            ///< a number has been seen: all others stand as deep
  bool is_number_ = false;
};

}  // namespace qkv
