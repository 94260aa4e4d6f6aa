#pragma once

// What most files use of the standard library and of fmt, and what the library lacks. It is
// compiled once, before the rest: a room's CMakeLists.txt names it as precompiled header. Rarer
// headers stand in the files that use them.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qkv::inline text {

/// True if the value is in the range, or is this member of one of its elements.
template <class Range, class Value, class Member = std::identity>
constexpr bool contains(const Range& range, const Value& value, Member member = {}) {
  return std::ranges::find(range, value, member) != std::ranges::end(range);
}

/// Returns the first element of which this member has the value; nullptr if there is none.
template <std::ranges::borrowed_range Range, class Value, class Member>
constexpr auto* find_by(Range&& range, const Value& value, Member member) {
  const auto found = std::ranges::find(range, value, member);
  return found == std::ranges::end(range) ? nullptr : &*found;
}

}  // namespace qkv::inline text
