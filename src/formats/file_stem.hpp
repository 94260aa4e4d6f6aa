#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qkv {

/// A file's stem taken apart: "06-scores.batch-2.head-1" holds matrix 2, 1 of "scores".
struct FileStem {
  std::string name;                                         ///< of the step or given
  std::vector<std::pair<std::string, std::size_t>> places;  ///< {"batch", 2}, {"head", 1}; from 1
};

/// The number in front and "given-" are dropped. Example: "given-W_Q" is {"W_Q", {}}.
FileStem file_stem(std::string_view text);

}  // namespace qkv
