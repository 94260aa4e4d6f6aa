#include "page/pattern.hpp"

#include <bit>
#include <cstdint>
#include <optional>
#include <utility>

namespace qkv {
namespace {

using Extents = std::array<std::size_t, 3>;

// NaN equals itself here, and 0 is not -0: the page must show the very number.
bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

std::size_t place_in_table(unsigned by, const ShownCell& cell, const Extents& extents) {
  std::size_t place = 0;
  for (std::size_t d = 0; d < 3; ++d) {
    if ((by >> d & 1U) != 0) place = place * extents[d] + cell.place[d];
  }
  return place;
}

std::size_t size_of_table(unsigned by, const Extents& extents) {
  std::size_t size = 1;
  for (std::size_t d = 0; d < 3; ++d) size *= (by >> d & 1U) != 0 ? extents[d] : 1;
  return size;
}

// How the values grow along one direction, by the first two cells that differ in it alone.
double slope(std::size_t d, std::span<const double> values, std::span<const ShownCell> cells,
             const Extents& extents) {
  const unsigned others = 7U & ~(1U << d);
  std::vector<std::optional<std::size_t>> first(size_of_table(others, extents));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::optional<std::size_t>& before = first[place_in_table(others, cells[i], extents)];
    if (!before) {
      before = i;
    } else if (cells[*before].index[d] != cells[i].index[d]) {
      return (values[i] - values[*before]) / (static_cast<double>(cells[i].index[d]) -
                                              static_cast<double>(cells[*before].index[d]));
    }
  }
  return 0;
}

bool holds(const Pattern& pattern, std::span<const double> values, std::span<const ShownCell> cells,
           const Extents& extents) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!same(value_at(pattern, cells[i], extents), values[i])) return false;
  }
  return true;
}

std::optional<Pattern> linear_pattern(std::span<const double> values,
                                      std::span<const ShownCell> cells, const Extents& extents) {
  Pattern pattern;
  double base = values.front();
  for (std::size_t d = 0; d < 3; ++d) {
    pattern.linear[d + 1] = slope(d, values, cells, extents);
    base -= pattern.linear[d + 1] * static_cast<double>(cells.front().index[d]);
  }
  pattern.linear[0] = base;
  if (!holds(pattern, values, cells, extents)) return {};
  return pattern;
}

std::optional<Pattern> table_pattern(unsigned by, std::span<const double> values,
                                     std::span<const ShownCell> cells, const Extents& extents) {
  Pattern pattern{.linear = {}, .by = by, .table = {}};
  pattern.table.assign(size_of_table(by, extents), 0.0);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    pattern.table[place_in_table(by, cells[i], extents)] = values[i];
  }
  if (!holds(pattern, values, cells, extents)) return {};
  return pattern;
}

bool all_the_same(std::span<const double> values) {
  for (const double value : values) {
    if (!same(value, values.front())) return false;
  }
  return true;
}

}  // namespace

bool Pattern::is_same_everywhere() const {
  return by == 0 && linear[1] == 0 && linear[2] == 0 && linear[3] == 0;
}

double value_at(const Pattern& pattern, const ShownCell& cell,
                const std::array<std::size_t, 3>& extents) {
  if (pattern.by != 0) return pattern.table[place_in_table(pattern.by, cell, extents)];
  double value = pattern.linear[0];
  if (pattern.is_same_everywhere()) return value;
  for (std::size_t d = 0; d < 3; ++d) {
    value += pattern.linear[d + 1] * static_cast<double>(cell.index[d]);
  }
  return value;
}

Pattern pattern_of(std::span<const double> values, std::span<const ShownCell> cells,
                   const std::array<std::size_t, 3>& extents) {
  if (values.empty()) return {};
  if (all_the_same(values)) return {.linear = {values.front(), 0, 0, 0}, .by = 0, .table = {}};
  if (auto linear = linear_pattern(values, cells, extents)) return *std::move(linear);
  for (const unsigned by : {1U, 2U, 4U, 3U, 5U, 6U}) {
    if (auto table = table_pattern(by, values, cells, extents)) return *std::move(table);
  }
  return *table_pattern(7U, values, cells, extents);
}

}  // namespace qkv
