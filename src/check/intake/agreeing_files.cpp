#include "check/intake/agreeing_files.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "check/intake/layout.hpp"
#include "check/tolerance/precision.hpp"

namespace qkv {
namespace {

// How far off a number may be for what its file says of it.
double fineness(const Written& written, const Numeral& cell) {
  if (written.precision == Precision::digits) return std::pow(10.0, -cell.decimals);
  return rule_of(written.precision).floor * std::max(1.0, std::abs(cell.value));
}

// The numbers of `file` that `part` speaks of, too: all of them, or its one matrix.
std::span<const Numeral> shared_cells(const HandedFile& file, const HandedFile& part,
                                      const Tensor& tensor) {
  const std::span<const Numeral> cells = file.written.cells;
  const std::size_t size = part.written.cells.size();
  if (file.leading == part.leading || !file.leading.empty()) return cells;
  const std::size_t start = index_of(part, tensor) * size;
  return start + size <= cells.size() ? cells.subspan(start, size) : std::span<const Numeral>();
}

}  // namespace

bool agree(const HandedFile& one, const HandedFile& other, const Tensor& tensor) {
  const auto a = shared_cells(one, other, tensor);
  const auto b = shared_cells(other, one, tensor);
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = a[i].value;
    const double y = b[i].value;
    // The same number cut to fewer digits, not another one of as many.
    const double fine = fineness(one.written, a[i]);
    const double coarse = fineness(other.written, b[i]);
    const double reach = fine == coarse ? 0 : std::max(fine, coarse) / 2 * (1 + 1e-9);
    const bool same = x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= reach;
    if (!same) return false;
  }
  return true;
}

}  // namespace qkv
