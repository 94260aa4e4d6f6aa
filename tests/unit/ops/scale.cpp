#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "support/calls.hpp"

namespace ops_scale_tests {

using namespace qkv::test;

namespace {
OptionMap by(qkv::OptionValue value) { return {{"by", std::move(value)}}; }
OptionMap by(const char* word) { return by(std::string(word)); }

// Q is 1×4, so d_k is 4; the scores of two keys are 2 and 8.
qkv::Tensor scores() {
  return apply("score", {matrix({{1, 1, 0, 1}}), matrix({{2, 0, 0, 0}, {2, 2, 9, 4}})});
}
}  // namespace

TEST_CASE("scores are divided by the square root of the width of Q") {
  CHECK(difference(rows_of(apply("scale", {scores()})), {{1, 4}}) == "");
  CHECK(difference(rows_of(apply("scale", {scores()}, by("sqrt(d_k)"))), {{1, 4}}) == "");
}

TEST_CASE("by = d_k divides by the width itself, a number by the number") {
  CHECK(difference(rows_of(apply("scale", {scores()}, by("d_k"))), {{0.5, 2}}) == "");
  CHECK(difference(rows_of(apply("scale", {scores()}, by("sqrt(64)"))), {{0.25, 1}}) == "");
  CHECK(difference(rows_of(apply("scale", {scores()}, by("2.5e0"))), {{0.8, 3.2}}) == "");
  CHECK(difference(rows_of(apply("scale", {scores()}, by(0.5))), {{4, 16}}) == "");
  CHECK(difference(rows_of(apply("scale", {scores()}, by(-2.0))), {{-1, -4}}) == "");
}

TEST_CASE("d_k is known through masks and scales, and behind a matmul") {
  const qkv::Tensor masked =
      apply("mask", {apply("scale", {scores()}, by(2.0))}, {{"align", std::string("start")}});
  CHECK(difference(rows_of(apply("scale", {masked})),
                   {{0.5, -std::numeric_limits<double>::infinity()}}) == "");
  const qkv::Tensor product =
      apply("matmul", {matrix({{1, 1, 0, 1}}), matrix({{2}, {0}, {0}, {0}})});
  CHECK(difference(rows_of(apply("scale", {product})), {{1}}) == "");
}

TEST_CASE("queries that are scaled before the product have d_k for their own width") {
  const qkv::Tensor q = named(matrix({{2, 4, 6, 8}}), {"token", "d_k"});
  CHECK(difference(rows_of(apply("scale", {q})), {{1, 2, 3, 4}}) == "");
}

TEST_CASE("scores without queries behind them have no d_k to scale by") {
  const qkv::Tensor given = named(matrix({{1, 2}, {3, 4}}), {"query", "key"});
  const std::string expected =
      "step: A comes from no queries, so d_k is not known; write what to divide by: by = "
      "\"sqrt(64)\"";
  CHECK(refusal("scale", {given}) == expected);
  CHECK(refusal("scale", {given}, by("d_k")) == expected);
  CHECK(difference(rows_of(apply("scale", {given}, by("sqrt(4)"))), {{0.5, 1}, {1.5, 2}}) == "");
}

TEST_CASE("nothing is divided by 0, by a negative root or by a word") {
  CHECK(refusal("scale", {scores()}, by(0.0)) == "step: by is 0, and nothing can be divided by 0");
  CHECK(refusal("scale", {scores()}, by(qkv::infinity)) ==
        "step: by is inf; write a finite number");
  for (const char* word :
       {"sqrt(0)", "sqrt(-4)", "0", "sqrt(d_model)", "sqrt(4", "√4", "sqrt(inf)", ""}) {
    CHECK(refusal("scale", {scores()}, by(word)) ==
          "step: by is \"" + std::string(word) +
              "\"; write \"sqrt(d_k)\", \"d_k\", \"sqrt(64)\", \"1/sqrt(64)\" or a number above 0");
  }
}

}  // namespace ops_scale_tests
