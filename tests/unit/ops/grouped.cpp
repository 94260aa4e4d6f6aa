// Grouped queries beside hand arithmetic: four heads of queries, two of keys, of one number each.

#include <catch2/catch.hpp>

#include "support/calls.hpp"

namespace ops_grouped_tests {

using namespace qkv::test;

namespace {

const qkv::Tensor queries = stack({{{1}}, {{2}}, {{3}}, {{4}}});
const qkv::Tensor keys = stack({{{10}, {20}}, {{30}, {40}}});

}  // namespace

TEST_CASE("neighbouring query heads share a head of keys") {
  const qkv::Tensor scores = apply("score", {queries, keys});
  CHECK(scores.shape() == qkv::Shape{4, 1, 2});
  CHECK(difference(rows_of(scores, 0), {{10, 20}}) == "");
  CHECK(difference(rows_of(scores, 1), {{20, 40}}) == "");
  CHECK(difference(rows_of(scores, 2), {{90, 120}}) == "");
  CHECK(difference(rows_of(scores, 3), {{120, 160}}) == "");
}

TEST_CASE("so they do with values") {
  const qkv::Tensor weights = stack({{{1, 0}}, {{0, 1}}, {{0.5, 0.5}}, {{0, 1}}});
  const qkv::Tensor mixed = apply("weighted_sum", {weights, keys});
  CHECK(difference(rows_of(mixed, 0), {{10}}) == "");
  CHECK(difference(rows_of(mixed, 1), {{20}}) == "");
  CHECK(difference(rows_of(mixed, 2), {{35}}) == "");
  CHECK(difference(rows_of(mixed, 3), {{40}}) == "");
}

TEST_CASE("repeated heads stand in a row, and scores of them are the same") {
  const qkv::Tensor all = apply("repeat_kv", {keys}, {{"times", 2.0}});
  CHECK(all.shape() == qkv::Shape{4, 2, 1});
  CHECK(difference(rows_of(all, 1), {{10}, {20}}) == "");
  CHECK(difference(rows_of(all, 2), {{30}, {40}}) == "");
  CHECK(apply("score", {queries, all}).values == apply("score", {queries, keys}).values);
}

TEST_CASE("heads that do not divide, and more keys than queries, are refused") {
  const qkv::Tensor three = stack({{{1}}, {{2}}, {{3}}});
  CHECK(refusal("score", {queries, three}) == "step: head is 4 in A (4×1×1) but 3 in B (3×1×1)");
  CHECK(refusal("score", {keys, queries}) == "step: head is 2 in A (2×2×1) but 4 in B (4×1×1)");
  CHECK(refusal("matmul", {queries, three}) == "step: head is 4 in A (4×1×1) but 3 in B (3×1×1)");
  CHECK(refusal("repeat_kv", {matrix({{1}})}, {{"times", 2.0}}) ==
        "step: A (1×1) has no axis of heads to repeat");
}

}  // namespace ops_grouped_tests
