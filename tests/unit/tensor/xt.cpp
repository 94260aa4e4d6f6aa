#include "tensor/xt.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <vector>

#include "tensor/tensor.hpp"

namespace tensor_xt_tests {

using namespace qkv;

namespace {

const Matrix some = {{1, 5, 3},  //
                     {-2, -8, 0}};

std::vector<double> in_order(const Matrix& matrix) { return {matrix.begin(), matrix.end()}; }

using Numbers = std::vector<double>;

}  // namespace

TEST_CASE("rows and columns are reduced to one number each, and stay an axis of size 1") {
  CHECK(maxima(some).shape() == std::array<std::size_t, 2>{2, 1});
  CHECK(maxima(some, Along::columns).shape() == std::array<std::size_t, 2>{1, 3});
  CHECK(in_order(maxima(some)) == Numbers{5, 0});
  CHECK(in_order(maxima(some, Along::columns)) == Numbers{1, 5, 3});
  CHECK(in_order(sums(some)) == Numbers{9, -10});
  CHECK(in_order(sums(some, Along::columns)) == Numbers{-1, -3, 3});
  CHECK(total(some) == -1);
}

TEST_CASE("a nan makes the top nan, wherever it stands") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Matrix& row : {Matrix{{1, nan, 7}}, Matrix{{nan, 1, 7}}, Matrix{{7, 1, nan}}}) {
    CHECK(std::isnan(maxima(row)(0, 0)));
  }
}

TEST_CASE("a row of scores less its top is never above 0, and a formula broadcasts over it") {
  const Matrix below = some - maxima(some);
  CHECK(in_order(below) == Numbers{-4, 0, -2, -2, -8, 0});
}

TEST_CASE("heads that change places with tokens are put where they belong") {
  // Two tokens, two heads of three features: [token head feature] → [head token feature].
  const Numbers tokens = {11, 12, 13, 21, 22, 23,  //
                          14, 15, 16, 24, 25, 26};
  Numbers heads(12);
  put(xt::transpose(view_as<3>(std::span<const double>(tokens), {2, 2, 3}), {1, 0, 2}), heads);
  CHECK(heads == Numbers{11, 12, 13, 14, 15, 16, 21, 22, 23, 24, 25, 26});
}

TEST_CASE("an array of more axes than asked for counts the first ones as one, of fewer adds ones") {
  const Tensor batch = tensor_of({2, 3, 4, 5}, std::vector<double>(120));
  CHECK(batch.array<3>().shape() == std::array<std::size_t, 3>{6, 4, 5});
  CHECK(batch.array<4>().shape() == std::array<std::size_t, 4>{2, 3, 4, 5});
  CHECK(batch.array<5>().shape() == std::array<std::size_t, 5>{1, 2, 3, 4, 5});
  CHECK(batch.matrix(5).shape() == std::array<std::size_t, 2>{4, 5});
}

TEST_CASE("one matrix broadcasts over heads") {
  const Tensor heads = tensor_of({2, 1, 3}, {1, 2, 3, 10, 20, 30});
  const Tensor one = tensor_of({1, 3}, {100, 200, 300});
  Tensor sum = zeros({{"head", 2}, {"row", 1}, {"column", 3}});
  xt::noalias(sum.mutable_array()) = heads.array() + one.array();
  CHECK(Numbers(sum.values.begin(), sum.values.end()) == Numbers{101, 202, 303, 110, 220, 330});
}

}  // namespace tensor_xt_tests
