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

/// Returns what the function, or this member, gives for each element; as `Made`, if one is named.
template <class Made = void, class Range, class Function>
auto mapped(Range&& range, Function function) {
  using Given = std::invoke_result_t<Function&, std::ranges::range_reference_t<Range>>;
  using Result = std::conditional_t<std::is_void_v<Made>, std::remove_cvref_t<Given>, Made>;
  std::vector<Result> results;
  for (auto&& element : range) results.emplace_back(std::invoke(function, element));
  return results;
}

/// Returns the elements for which the predicate is true, or of each what `part` gives.
template <class Range, class Predicate, class Part = std::identity>
auto filtered(Range&& range, Predicate predicate, Part part = {}) {
  using Given = std::invoke_result_t<Part&, std::ranges::range_reference_t<Range>>;
  std::vector<std::remove_cvref_t<Given>> results;
  for (auto&& element : range) {
    if (std::invoke(predicate, element)) results.push_back(std::invoke(part, element));
  }
  return results;
}

/// A base of classes whose objects are not copied.
struct NotCopied {
  NotCopied() = default;
  NotCopied(const NotCopied&) = delete;
  NotCopied& operator=(const NotCopied&) = delete;
};

/// Returns the numbers from 0 to `count` - 1 for which the predicate is true.
template <class Predicate>
std::vector<std::size_t> places_where(std::size_t count, const Predicate& predicate) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < count; ++i) {
    if (predicate(i)) places.push_back(i);
  }
  return places;
}

/// Returns what the function gives for each number from 0 to `count` - 1.
template <class Function>
auto mapped_places(std::size_t count, const Function& function) {
  std::vector<std::remove_cvref_t<std::invoke_result_t<const Function&, std::size_t>>> results;
  results.reserve(count);
  for (std::size_t i = 0; i < count; ++i) results.push_back(function(i));
  return results;
}

}  // namespace qkv::inline text
