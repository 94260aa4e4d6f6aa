#pragma once

#include <cstddef>
#include <string_view>

#include "text/unicode.hpp"

namespace qkv {

/// What a reader takes for one character: a letter with its marks, a flag, a family.
struct Cluster {
  std::string_view text;
  Code first;
  std::size_t width;  ///< columns of a terminal
};

/// The cluster that starts at `at`, as far as the next place where Unicode lets text be divided.
Cluster cluster_at(std::string_view text, std::size_t at);

/// The longest beginning of text that fits into `columns`.
std::string_view beginning(std::string_view text, std::size_t columns);

}  // namespace qkv
