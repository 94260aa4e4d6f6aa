#include "tensor/tensor.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace tensor_compare_tests {

namespace {

using namespace qkv;
using Numbers = std::vector<double>;

const double nan = std::nan("");

TEST_CASE("the tolerance is inclusive, and relative to the desired number") {
  CHECK(is_close(1.5, 1, {.relative = 0.5, .absolute = 0}));
  CHECK_FALSE(is_close(1, 0.5, {.relative = 0.5, .absolute = 0}));
  CHECK(is_close(1, 0.5, {.relative = 0.5, .absolute = 0.25}));
  CHECK_FALSE(is_close(1e-300, 0, {.relative = 1, .absolute = 0}));
}

TEST_CASE("nan is close to nan, infinities to themselves, and to nothing else") {
  const Tolerance loose{.relative = 1, .absolute = 1e300};
  CHECK(is_close(nan, nan, {}));
  CHECK(is_close(-infinity, -infinity, {}));
  CHECK_FALSE(is_close(nan, 1, loose));
  CHECK_FALSE(is_close(-1e9, -infinity, loose));
  CHECK_FALSE(is_close(infinity, -infinity, loose));
}

TEST_CASE("a difference counts the mismatches and finds the largest of all elements") {
  // numpy.testing.assert_allclose([1, 2, 3.5, 4], [1, 2.1, 3, 4.0001], rtol=0.01) says:
  // Mismatched elements: 2 / 4 (50%), max absolute difference 0.5, max relative 0.16666667
  const Difference difference =
      difference_of(Numbers{1, 2, 3.5, 4}, Numbers{1, 2.1, 3, 4.0001}, {0.01, 0});
  CHECK(difference.elements == 4);
  CHECK(difference.mismatched == 2);
  CHECK(difference.first == 1);
  CHECK(difference.largest_absolute == 0.5);
  CHECK(difference.largest_relative == Approx(0.16666667));
  CHECK_FALSE(difference.identical);
}

TEST_CASE("numbers within the tolerance are no mismatch, but not identical") {
  const Difference difference = difference_of(Numbers{1 + 1e-9}, Numbers{1}, {1e-7, 0});
  CHECK(difference.mismatched == 0);
  CHECK_FALSE(difference.first.has_value());
  CHECK_FALSE(difference.identical);
}

TEST_CASE("equal infinities and nan differ by nothing") {
  const Difference difference =
      difference_of(Numbers{-infinity, nan, 0.0, 2}, Numbers{-infinity, nan, -0.0, 2}, {});
  CHECK(difference.identical);
  CHECK(difference.largest_absolute == 0);
}

TEST_CASE("a nan or infinity on one side only is a mismatch of its own") {
  const Difference lost = difference_of(Numbers{nan, 1}, Numbers{5, 1}, {1, 1});
  CHECK(lost.mismatched == 1);
  CHECK(lost.largest_absolute == 0);
  CHECK(difference_of(Numbers{-1e9}, Numbers{-infinity}, {1, 1}).largest_absolute == infinity);
}

TEST_CASE("where every desired number is 0, the relative difference is infinite, as in NumPy") {
  CHECK(difference_of(Numbers{1e-9, 0}, Numbers{0, 0}, {}).largest_relative == infinity);
  CHECK(difference_of(Numbers{0, 0}, Numbers{0, 0}, {}).largest_relative == 0);
  // One that is not 0 leaves the others out of it.
  CHECK(difference_of(Numbers{1e-9, 2}, Numbers{0, 1}, {}).largest_relative == 1);
}

TEST_CASE("arrays of two sizes can't be compared") {
  CHECK_THROWS_AS(difference_of(Numbers{1}, Numbers{1, 2}, {}), std::logic_error);
}

}  // namespace

}  // namespace tensor_compare_tests
