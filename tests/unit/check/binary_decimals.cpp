#include "formats/arrays/dtype.hpp"

#include <catch2/catch.hpp>

namespace check_binary_decimals_tests {

namespace {

using namespace qkv;

qkv::Numerals cells(std::initializer_list<double> numbers) {
  Numerals result;
  for (const double x : numbers) result.push_back({.value = x});
  return result;
}

}  // namespace

TEST_CASE("decimals of a binary file count where its numbers could have more") {
  CHECK(rounded_decimals(cells({0.125f, 0.1f}), Precision::float32) == 3);
  CHECK(rounded_decimals(cells({0.5, 0.25, -0.75, 1.5}), Precision::float16) == 2);
  CHECK(rounded_decimals(cells({7, -12, 40}), Precision::float32) == 0);
  CHECK(rounded_decimals(cells({0.5, -1e30f, -1e30f}), Precision::float32) == 1);
  CHECK(!rounded_decimals(cells({0.333333343}), Precision::float32));
}

TEST_CASE("numbers that can't have more decimals were not rounded to those they have") {
  // Neighbours in float16 are 1/8 apart from 128 on, in bfloat16 2 from 256 on.
  CHECK(!rounded_decimals(cells({141.625, -24.0625}), Precision::float16));
  CHECK(!rounded_decimals(cells({300}), Precision::bfloat16));
  CHECK(!rounded_decimals(cells({16777216, 3, 33554432}), Precision::float32));
}

}  // namespace check_binary_decimals_tests
