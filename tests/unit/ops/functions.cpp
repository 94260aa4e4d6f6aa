// Functions of one number and of one row, by hand arithmetic and NumPy.

#include <catch2/catch.hpp>

#include "support/calls.hpp"

namespace ops_functions_tests {

using namespace qkv::test;

namespace {

const qkv::Tensor a = matrix({{1, 4}, {0.25, 2}});

}  // namespace

TEST_CASE("log, sqrt, sigmoid and tanh go over every number") {
  CHECK(difference(rows_of(apply("log", {a})),
                   {{0, 1.3862943611198906}, {-1.3862943611198906, 0.6931471805599453}},
                   1e-15) == "");
  CHECK(difference(rows_of(apply("sqrt", {a})), {{1, 2}, {0.5, 1.4142135623730951}}, 1e-15) == "");
  CHECK(difference(rows_of(apply("sigmoid", {matrix({{0, -1}, {1, 40}})})),
                   {{0.5, 0.2689414213699951}, {0.7310585786300049, 1}}, 1e-15) == "");
  CHECK(difference(rows_of(apply("tanh", {matrix({{0, -1, 0.5}})})),
                   {{0, -0.7615941559557649, 0.46211715726000973}}, 1e-15) == "");
}

TEST_CASE("rows and columns are brought to one number each") {
  const qkv::Tensor b = matrix({{1, -2, 4}, {3, 3, -9}});
  CHECK(difference(rows_of(apply("row_max", {b})), {{4}, {3}}) == "");
  CHECK(difference(rows_of(apply("row_sum", {b})), {{3}, {-3}}) == "");
  CHECK(difference(rows_of(apply("row_mean", {b})), {{1}, {-1}}) == "");
  const OptionMap down = {{"axis", std::string("columns")}};
  CHECK(difference(rows_of(apply("row_max", {b}, down)), {{3, 3, 4}}) == "");
  CHECK(difference(rows_of(apply("row_sum", {b}, down)), {{4, 1, -5}}) == "");
  CHECK(difference(rows_of(apply("row_mean", {b}, down)), {{2, 0.5, -2.5}}) == "");
}

TEST_CASE("nothing has no largest number, no sum and no mean") {
  CHECK(refusal("row_mean", {qkv::zeros({{"", 2}, {"", 0}})}) ==
        "step: A (2×0) has no numbers to work with");
}

}  // namespace ops_functions_tests
