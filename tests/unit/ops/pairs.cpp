// What works cell by cell on two matrices, the second of which may repeat, by hand arithmetic.

#include <catch2/catch.hpp>

#include "support/calls.hpp"

namespace ops_pairs_tests {

using namespace qkv::test;

namespace {

const qkv::Tensor a = matrix({{1, 2, 4}, {3, -4, 0.5}});

}  // namespace

TEST_CASE("two matrices of one size meet cell by cell") {
  const qkv::Tensor b = matrix({{2, 8, 1}, {-3, 2, 0.25}});
  CHECK(difference(rows_of(apply("add", {a, b})), {{3, 10, 5}, {0, -2, 0.75}}) == "");
  CHECK(difference(rows_of(apply("subtract", {a, b})), {{-1, -6, 3}, {6, -6, 0.25}}) == "");
  CHECK(difference(rows_of(apply("multiply", {a, b})), {{2, 16, 4}, {-9, -8, 0.125}}) == "");
  CHECK(difference(rows_of(apply("divide", {a, b})), {{0.5, 0.25, 4}, {-1, -2, 2}}) == "");
  CHECK(difference(rows_of(apply("maximum", {a, b})), {{2, 8, 4}, {3, 2, 0.5}}) == "");
}

TEST_CASE("one row, one column, one number and a vector repeat") {
  CHECK(difference(rows_of(apply("subtract", {a, matrix({{1, 0, -1}})})),
                   {{0, 2, 5}, {2, -4, 1.5}}) == "");
  CHECK(difference(rows_of(apply("subtract", {a, vector({1, 0, -1})})),
                   {{0, 2, 5}, {2, -4, 1.5}}) == "");
  CHECK(difference(rows_of(apply("divide", {a, matrix({{2}, {0.5}})})),
                   {{0.5, 1, 2}, {6, -8, 1}}) == "");
  CHECK(difference(rows_of(apply("maximum", {a, matrix({{2}})})), {{2, 2, 4}, {3, 2, 2}}) == "");
  const qkv::Tensor heads = apply("add", {stack({{{1, 2}}, {{3, 4}}}), matrix({{10}})});
  CHECK(difference(rows_of(heads, 1), {{13, 14}}) == "");
}

TEST_CASE("only the second one repeats, and what fits nowhere is told with both sizes") {
  CHECK(refusal("subtract", {matrix({{1, 2}}), matrix({{1, 2}, {3, 4}})}) ==
        "step: row is 1 in A (1×2) but 2 in B (2×2)");
  CHECK(refusal("maximum", {a, matrix({{1, 2}})}) ==
        "step: column is 3 in A (2×3) but 2 in B (1×2)");
}

}  // namespace ops_pairs_tests
