#include <catch2/catch.hpp>
#include <string>

#include "support/calls.hpp"

namespace ops_embed_tests {

using namespace qkv::test;

namespace {
const Rows table = {{10, 11}, {20, 21}, {30, 31}};
}

TEST_CASE("row k of the table stands for the id k") {
  CHECK(difference(rows_of(apply("embed", {vector({2, 0, 2}), matrix(table)})),
                   {{30, 31}, {10, 11}, {30, 31}}) == "");
}

TEST_CASE("the ids of a batch give a matrix for each text, under its own words") {
  qkv::Tensor ids = named(matrix({{0, 1}, {2, 2}}), {"batch", "token"});
  ids.axes[1].labels = {"a", "b", "c", "c"};
  const qkv::Tensor embedded = apply("embed", {ids, labelled(matrix(table), {}, {"f1", "f2"})});
  CHECK(embedded.shape() == qkv::Shape{2, 2, 2});
  CHECK(difference(rows_of(embedded, 0), {{10, 11}, {20, 21}}) == "");
  CHECK(difference(rows_of(embedded, 1), {{30, 31}, {30, 31}}) == "");
  CHECK(embedded.axes[0].name == "batch");
  CHECK(embedded.axes[1].label(1, 0) == "b");
  CHECK(embedded.axes[1].label(1, 1) == "c");
  CHECK(embedded.axes[2].label(0) == "f1");
}

TEST_CASE("no ids embed to no rows") {
  CHECK(apply("embed", {vector({}), matrix(table)}).shape() == qkv::Shape{0, 2});
}

TEST_CASE("an id without a row is refused with its token") {
  qkv::Tensor ids = vector({0, 3});
  CHECK(refusal("embed", {ids, matrix(table)}) ==
        "step: token 2 has id 3, but B has rows for ids 0 to 2");
  ids.axes[0].labels = {"the", "dog"};
  CHECK(refusal("embed", {ids, matrix(table)}) ==
        "step: token 2 (dog) has id 3, but B has rows for ids 0 to 2");
  CHECK(refusal("embed", {vector({-1}), matrix(table)}) ==
        "step: token 1 has id -1, but B has rows for ids 0 to 2");
  CHECK(refusal("embed", {vector({0.5}), matrix(table)}) ==
        "step: token 1 has id 0.5, but B has rows for ids 0 to 2");
}

TEST_CASE("a table must be one matrix") {
  CHECK(refusal("embed", {vector({0}), stack({table, table})}) ==
        "step: B (2×3×2) must be a matrix, one row for each id");
  CHECK(refusal("embed", {vector({0}), vector({1, 2})}) ==
        "step: B (2) must be a matrix, one row for each id");
}

}  // namespace ops_embed_tests
