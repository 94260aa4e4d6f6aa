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

/// The number in front, "given-" and what a copy adds (" (1)", " - Copy") are dropped. Example:
/// "given-W_Q" is {"W_Q", {}}.
FileStem file_stem(std::string_view text);

/// The stem without what a copy adds.
std::string_view without_copy(std::string_view stem);

/// Whether a file of that name is one that systems and editors keep beside those that people save:
/// ".Q.csv.swp", "Q.csv~", "#Q.csv#".
bool is_kept_by_editors(std::string_view name);

}  // namespace qkv
