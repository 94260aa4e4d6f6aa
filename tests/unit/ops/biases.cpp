// softcap, alibi, relative_bias and softmax's sinks beside hand arithmetic.

#include <catch2/catch.hpp>
#include <cmath>

#include "support/calls.hpp"

namespace ops_biases_tests {

using namespace qkv::test;

namespace {

const qkv::Tensor zeros_of_three = matrix({{0, 0, 0}, {0, 0, 0}, {0, 0, 0}});

}  // namespace

TEST_CASE("a capped score is cap · tanh(score / cap)") {
  CHECK(difference(rows_of(apply("softcap", {matrix({{0, 2, -50}})}, {{"cap", 2.0}})),
                   {{0, 2 * std::tanh(1.0), -2}}, 1e-15) == "");
}

TEST_CASE("alibi's penalty is the slope times the distance, 2^(−8k/h) for head k of h") {
  const qkv::Tensor four = stack({{{0, 0}}, {{0, 0}}, {{0, 0}}, {{0, 0}}});
  const qkv::Tensor biased = apply("alibi", {four});  // one query is the last token
  CHECK(difference(rows_of(biased, 0), {{-0.25, 0}}) == "");
  CHECK(difference(rows_of(biased, 1), {{-0.0625, 0}}) == "");
  CHECK(difference(rows_of(biased, 3), {{-0.00390625, 0}}) == "");
  CHECK(difference(rows_of(apply("alibi", {zeros_of_three, vector({0.5})})),
                   {{0, -0.5, -1}, {-0.5, 0, -0.5}, {-1, -0.5, 0}}) == "");
  CHECK(difference(rows_of(apply("alibi", {matrix({{0, 0, 0}}), vector({1})},
                                 {{"align", std::string("start")}})),
                   {{0, -1, -2}}) == "");
}

TEST_CASE("three heads take the slopes of two and the first of four") {
  const qkv::Tensor biased = apply("alibi", {stack({{{0, 0}}, {{0, 0}}, {{0, 0}}})});
  CHECK(rows_of(biased, 0)[0][0] == -0.0625);
  CHECK(rows_of(biased, 1)[0][0] == -0.00390625);
  CHECK(rows_of(biased, 2)[0][0] == -0.25);
  CHECK(refusal("alibi", {stack({{{0}}, {{0}}}), vector({1})}) ==
        "step: B (1) must be a vector of 2 slopes, one for each head of A (2×1×1)");
}

TEST_CASE("T5's buckets: one a distance, then ever more in one") {
  // Four buckets, of which two hold the distances 0 and 1; 2 is the third, all from 4 on the last.
  const qkv::Tensor table = matrix({{10}, {20}, {30}, {40}});
  CHECK(difference(rows_of(apply("relative_bias", {matrix({{0, 0, 0, 0, 0, 0}}), table},
                                 {{"max_distance", 8.0}})),
                   {{40, 40, 30, 30, 20, 10}}) == "");
  // Both ways: two buckets for the past, two for the future.
  CHECK(difference(rows_of(apply("relative_bias", {zeros_of_three, table},
                                 {{"max_distance", 8.0}, {"bidirectional", true}})),
                   {{10, 40, 40}, {20, 10, 40}, {20, 20, 10}}) == "");
}

TEST_CASE("a sink takes its share of a row and gets no column") {
  const double sink = std::log(2.0);
  CHECK(difference(rows_of(apply("softmax", {matrix({{0, 0}}), vector({sink})})), {{0.25, 0.25}},
                   1e-15) == "");
  const qkv::Tensor heads = apply("softmax", {stack({{{0}}, {{0}}}), vector({0, sink})});
  CHECK(rows_of(heads, 0)[0][0] == Approx(0.5).epsilon(1e-15));
  CHECK(rows_of(heads, 1)[0][0] == Approx(1.0 / 3).epsilon(1e-15));
  CHECK(refusal("softmax", {matrix({{0, 0}}), vector({1, 2})}) ==
        "step: B (2) must be a vector of 1 sinks, one for each head of A (1×2)");
}

}  // namespace ops_biases_tests
