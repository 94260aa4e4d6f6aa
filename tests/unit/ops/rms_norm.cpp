// rms_norm beside hand arithmetic and NumPy: x / np.sqrt((x**2).mean(-1, keepdims=True) + eps) * g.

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "support/calls.hpp"

namespace ops_rms_norm_tests {

using namespace qkv::test;

namespace {

const Rows x = {{1, 2, 4}, {0, -1, 3}};

// What a cell of one row can be, with a gain of 1.
qkv::Interval range(const Rows& low, const Rows& high, std::size_t column, double eps) {
  const Work work("rms_norm", {matrix(low), vector({1, 1})}, {{"eps", eps}});
  const qkv::Tensor lowest = matrix(low);
  const qkv::Tensor highest = matrix(high);
  const qkv::Bounds bounds[] = {{&lowest, &highest}, {&work.inputs()[1], &work.inputs()[1]}};
  qkv::Cell<qkv::Interval> cell;
  cell.call = &work.call();
  cell.output = &lowest;
  cell.column = column;
  cell.bounds = bounds;
  return work.operation().cell.interval(cell);
}

}  // namespace

TEST_CASE("rms_norm divides a row by the root of the mean of its squares") {
  // (1 + 49) / 2 is 25, and its root 5; (9 + 9) / 2 is 9, and its root 3.
  CHECK(difference(rows_of(apply("rms_norm", {matrix({{1, 7}, {-3, 3}}), vector({1, 10})},
                                 {{"eps", 0.0}})),
                   {{0.2, 14}, {-1, 10}}) == "");
}

TEST_CASE("rms_norm gives NumPy's rows") {
  CHECK(difference(rows_of(apply("rms_norm", {matrix(x), vector({1, 0.5, -2})})),
                   {{0.3779642030348929, 0.3779642030348929, -3.0237136242791434},
                    {0, -0.2738608679615892, -3.2863304155390702}},
                   1e-14) == "");
  CHECK(difference(rows_of(apply("rms_norm", {matrix(x), matrix({{1, 0.5, -2}})}, {{"eps", 0.1}})),
                   {{0.37529331252040077, 0.37529331252040077, -3.002346500163206},
                    {0, -0.26984353611043294, -3.238122433325195}},
                   1e-14) == "");
}

TEST_CASE("with unit_offset rms_norm multiplies by 1 + gain") {
  const qkv::Tensor gain = vector({1, 0.5, -2});
  CHECK(difference(rows_of(apply("rms_norm", {matrix(x), gain}, {{"unit_offset", true}})),
                   {{0.7559284060697858, 1.1338926091046788, -1.5118568121395717},
                    {0, -0.8215826038847676, -1.6431652077695351}},
                   1e-14) == "");
  CHECK(difference(rows_of(apply("rms_norm", {matrix(x), gain}, {{"unit_offset", false}})),
                   rows_of(apply("rms_norm", {matrix(x), gain}))) == "");
}

TEST_CASE("rms_norm of a row of zeros is zeros, of no rows none") {
  CHECK(difference(rows_of(apply("rms_norm", {matrix({{0, 0}}), vector({1, 2})})), {{0, 0}}) == "");
  CHECK(apply("rms_norm", {matrix({}), vector({})}).shape() == qkv::Shape{0, 0});
}

TEST_CASE("squares too large for a double leave no norm, rather than zeros") {
  const Rows huge = rows_of(apply("rms_norm", {matrix({{1e200, 2e200}}), vector({1, 1})}));
  CHECK(std::isnan(huge[0][0]));
  CHECK(std::isnan(huge[0][1]));
}

TEST_CASE("the range of a norm ends where its own number does, the other at its nearest to 0") {
  // 3 / √((9 + 1) / 2) and 4 / √((16 + 0) / 2): the other one, from -1 to 1, may be 0.
  const qkv::Interval positive = range({{3, -1}}, {{4, 1}}, 0, 0);
  CHECK(positive.low == Approx(3 / std::sqrt(5.0)).epsilon(1e-15));
  CHECK(positive.high == Approx(4 / std::sqrt(8.0)).epsilon(1e-15));
  // Below 0 it is the other way round, and across it both ends are where the other is smallest.
  CHECK(range({{-4, -1}}, {{-3, 1}}, 0, 0).high == Approx(-3 / std::sqrt(5.0)).epsilon(1e-15));
  CHECK(range({{-1, 7}}, {{1, 9}}, 0, 0).low == Approx(-1 / std::sqrt(25.0)).epsilon(1e-15));
  CHECK(range({{-1, 7}}, {{1, 9}}, 0, 0).high == Approx(1 / std::sqrt(25.0)).epsilon(1e-15));
}

TEST_CASE("a whole number's norm is exact where root and quotient are") {
  const qkv::Tensor numbers = matrix({{1, 7}});
  const Work work("rms_norm", {numbers, vector({1, 10})}, {{"eps", 0.0}});
  const qkv::Decimal row[] = {1.0, 7.0};
  const qkv::Decimal gain[] = {1.0, 10.0};
  const std::span<const qkv::Decimal> decimals[] = {row, gain};
  qkv::Cell<qkv::Decimal> cell;
  cell.call = &work.call();
  cell.output = &numbers;
  cell.decimals = decimals;
  CHECK(work.operation().cell.decimal(cell).value() == 0.2);
}

TEST_CASE("the range of a large matrix is that of its cells") {
  const Rows low = {{-1, 0.5, 2}, {-3, -0.25, 0}};
  const Rows high = {{-0.5, 0.75, 2.5}, {1, 0.25, 0.125}};
  const qkv::Tensor lowest = matrix(low);
  const qkv::Tensor highest = matrix(high);
  const Work work("rms_norm", {lowest, vector({1, -2, 0.5})});
  const qkv::Bounds bounds[] = {{&lowest, &highest}, {&work.inputs()[1], &work.inputs()[1]}};
  const auto all = work.operation().range(work.call(), std::span(bounds), lowest);
  REQUIRE(all);
  qkv::Cell<qkv::Interval> cell;
  cell.call = &work.call();
  cell.output = &lowest;
  cell.bounds = bounds;
  for (cell.row = 0; cell.row < 2; ++cell.row) {
    for (cell.column = 0; cell.column < 3; ++cell.column) {
      const qkv::Interval one = work.operation().cell.interval(cell);
      CHECK(all->low.at(0, cell.row, cell.column) == Approx(one.low).epsilon(1e-14));
      CHECK(all->high.at(0, cell.row, cell.column) == Approx(one.high).epsilon(1e-14));
    }
  }
}

}  // namespace ops_rms_norm_tests
