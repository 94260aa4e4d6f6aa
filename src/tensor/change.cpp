#include "tensor/change.hpp"

#include <algorithm>

#include "tensor/compare.hpp"

namespace qkv {

bool differs(double now, double before) { return !is_close(now, before, {.relative = 1e-12}); }

bool comparable(const Tensor& now, const Tensor& before) {
  return now.shape() == before.shape() &&
         std::ranges::equal(now.axes, before.axes, {}, &Axis::labels, &Axis::labels);
}

bool differs(const Tensor& now, const Tensor& before) {
  return !comparable(now, before) ||
         !std::ranges::equal(now.values, before.values,
                             [](double a, double b) { return !differs(a, b); });
}

}  // namespace qkv
