#include <catch2/catch.hpp>
#include <limits>
#include <string>

#include "support/calls.hpp"

namespace ops_mask_tests {

using namespace qkv::test;

namespace {
constexpr double inf = std::numeric_limits<double>::infinity();

const Rows square = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};

OptionMap padding() { return {{"kind", std::string("padding")}}; }
OptionMap padding(qkv::OptionValue pad) { return {{"kind", std::string("padding")}, {"pad", pad}}; }
}  // namespace

TEST_CASE("a causal mask hides the keys after each query") {
  CHECK(difference(rows_of(apply("mask", {matrix(square)})),
                   {{1, -inf, -inf}, {4, 5, -inf}, {7, 8, 9}}) == "");
  CHECK(difference(rows_of(apply("mask", {matrix({{1}})}, {{"kind", std::string("causal")}})),
                   {{1}}) == "");
}

TEST_CASE("a causal mask hides in every head alike") {
  const qkv::Tensor masked = apply("mask", {stack({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}})});
  CHECK(difference(rows_of(masked, 0), {{1, -inf}, {3, 4}}) == "");
  CHECK(difference(rows_of(masked, 1), {{5, -inf}, {7, 8}}) == "");
}

TEST_CASE("a given mask keeps where it is 1 and hides where it is 0") {
  CHECK(difference(rows_of(apply("mask", {matrix({{1, 2}, {3, 4}}), matrix({{0, 1}, {1, 0}})})),
                   {{-inf, 2}, {3, -inf}}) == "");
}

TEST_CASE("a given mask of one row hides the same keys from every query") {
  CHECK(difference(rows_of(apply("mask", {matrix(square), matrix({{1, 0, 1}})})),
                   {{1, -inf, 3}, {4, -inf, 6}, {7, -inf, 9}}) == "");
  CHECK(difference(rows_of(apply("mask", {matrix(square), vector({1, 0, 1})})),
                   {{1, -inf, 3}, {4, -inf, 6}, {7, -inf, 9}}) == "");
}

TEST_CASE("a given mask may differ from head to head") {
  const qkv::Tensor masked = apply("mask", {matrix({{1, 2}}), stack({{{1, 0}}, {{0, 1}}})});
  CHECK(difference(rows_of(masked, 0), {{1, -inf}}) == "");
  CHECK(difference(rows_of(masked, 1), {{-inf, 2}}) == "");
}

TEST_CASE("padding hides the keys whose id is the pad's") {
  CHECK(difference(rows_of(apply("mask", {matrix(square), vector({5, 0, 0})}, padding(0.0))),
                   {{1, -inf, -inf}, {4, -inf, -inf}, {7, -inf, -inf}}) == "");
}

TEST_CASE("padding hides the keys whose token is the pad") {
  qkv::Tensor ids = vector({2, 0, 1});
  ids.axes[0].labels = {"a", "b", "<pad>"};
  CHECK(difference(rows_of(apply("mask", {matrix({{1, 2, 3}}), ids}, padding())), {{1, 2, -inf}}) ==
        "");
  CHECK(difference(rows_of(apply("mask", {matrix({{1, 2, 3}}), ids}, padding(std::string("b")))),
                   {{1, -inf, 3}}) == "");
}

TEST_CASE("in a batch every text has its own padding, in all of its heads") {
  const qkv::Tensor ids = apply("tokenise", {}, {}, texts({"life is", "so", "be"}));
  qkv::Tensor scores = qkv::zeros({{"batch", 3}, {"head", 2}, {"query", 2}, {"key", 2}});
  const qkv::Tensor masked = apply("mask", {scores, ids}, padding());
  for (const std::size_t first : {0u, 1u}) {
    CHECK(difference(rows_of(masked, first), {{0, 0}, {0, 0}}) == "");
    CHECK(difference(rows_of(masked, 2 + first), {{0, -inf}, {0, -inf}}) == "");
    CHECK(difference(rows_of(masked, 4 + first), {{0, -inf}, {0, -inf}}) == "");
  }
}

TEST_CASE("a mask that does not fit is refused") {
  CHECK(refusal("mask", {matrix(square), matrix({{1, 0}, {1, 0}, {1, 0}})}) ==
        "step: key is 3 in A (3×3) but 2 in B (3×2)");
  CHECK(refusal("mask", {matrix(square), matrix({{1, 0, 1}, {1, 0, 1}})}) ==
        "step: query is 3 in A (3×3) but 2 in B (2×3)");
  CHECK(refusal("mask", {matrix(square), vector({1, 0})}, padding(0.0)) ==
        "step: B (2) has no id for each key of A (3×3)");
  CHECK(refusal("mask", {matrix(square), matrix({{1, 0, 1}, {1, 0, 1}})}, padding(0.0)) ==
        "step: B (2×3) has no id for each key of A (3×3)");
}

TEST_CASE("ids without words need the padding's id") {
  const std::string expected =
      "step: B has no words beside its ids, so the padding can't be found by its word; write its "
      "id: "
      "pad = 0";
  CHECK(refusal("mask", {matrix(square), vector({5, 0, 0})}, padding()) == expected);
  CHECK(refusal("mask", {matrix(square), vector({5, 0, 0})}, padding(std::string("PAD"))) ==
        expected);
}

TEST_CASE("each kind of mask says what it takes") {
  CHECK(refusal("mask", {matrix(square), matrix(square)}, {{"kind", std::string("causal")}}) ==
        "step: a causal mask takes the scores alone: of = [\"scores\"]");
  CHECK(refusal("mask", {matrix(square)}, {{"kind", std::string("given")}}) ==
        "step: a given mask takes the scores and a 0/1 matrix (1 keeps): of = [\"scores\", "
        "\"keep\"]");
  CHECK(
      refusal("mask", {matrix(square)}, padding()) ==
      "step: a padding mask takes the scores and the token ids: of = [\"scores\", \"token_ids\"]");
}

}  // namespace ops_mask_tests
