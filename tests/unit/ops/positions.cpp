#include <catch2/catch.hpp>
#include <string>

#include "support/calls.hpp"

namespace ops_positions_tests {

using namespace qkv::test;

namespace {
qkv::Tensor embeddings(std::size_t tokens, std::size_t width) {
  return qkv::zeros({{"token", tokens}, {"d_model", width}});
}
const OptionMap learned = {{"method", std::string("learned")}};
}  // namespace

// Printed by NumPy 1.24.2: angle = np.arange(n)[:, None] / 10000 ** ((c - c % 2) / d) for the
// columns c, the sine in even columns, the cosine in odd ones (Vaswani et al., section 3.5).
TEST_CASE("sinusoidal positions are NumPy's") {
  CHECK(difference(
            rows_of(apply("positions", {embeddings(3, 4)})),
            {{0, 1, 0, 1},
             {0.8414709848078965, 0.5403023058681397, 0.009999833334166664, 0.9999500004166654},
             {0.9092974268256816, -0.4161468365471424, 0.01999866669333308, 0.999800006666578}},
            1e-15) == "");
}

TEST_CASE("an odd width ends on a sine") {
  CHECK(difference(rows_of(apply("positions", {embeddings(3, 5)})),
                   {{0, 1, 0, 1, 0},
                    {0.8414709848078965, 0.5403023058681397, 0.025116222909773774, 0.99968453791521,
                     0.0006309573026154199},
                    {0.9092974268256816, -0.4161468365471424, 0.050216599387465206,
                     0.9987383506934931, 0.0012619143540422218}},
                   1e-15) == "");
  CHECK(difference(rows_of(apply("positions", {embeddings(3, 1)})),
                   {{0}, {0.8414709848078965}, {0.9092974268256816}}, 1e-15) == "");
}

TEST_CASE("another base stretches the waves") {
  CHECK(difference(
            rows_of(apply("positions", {embeddings(2, 4)}, {{"base", 100.0}})),
            {{0, 1, 0, 1},
             {0.8414709848078965, 0.5403023058681397, 0.09983341664682817, 0.9950041652780256}},
            1e-15) == "");
}

TEST_CASE("learned positions are the first rows of their table") {
  const qkv::Tensor table = matrix({{1, 2}, {3, 4}, {5, 6}});
  CHECK(difference(rows_of(apply("positions", {embeddings(2, 2), table}, learned)),
                   {{1, 2}, {3, 4}}) == "");
  CHECK(difference(rows_of(apply("positions", {embeddings(3, 2), table})),
                   {{1, 2}, {3, 4}, {5, 6}}) == "");
}

TEST_CASE("a batch has one matrix of positions, and no tokens have none") {
  CHECK(apply("positions", {qkv::zeros({{"batch", 2}, {"token", 3}, {"", 4}})}).shape() ==
        qkv::Shape{3, 4});
  CHECK(apply("positions", {embeddings(0, 4)}).shape() == qkv::Shape{0, 4});
}

TEST_CASE("a table that is too short or too narrow is refused") {
  CHECK(refusal("positions", {embeddings(3, 2), matrix({{1, 2}, {3, 4}})}) ==
        "step: there are 3 tokens, and B (2×2) has rows for 2 positions only; take a shorter text");
  CHECK(
      refusal("positions", {embeddings(2, 3), matrix({{1, 2}, {3, 4}})}) ==
      "step: B (2×2) must have at least 2 rows, one for each position, of 3 columns, like A (2×3)");
}

TEST_CASE("a table without learned, or learned without a table, is refused") {
  CHECK(refusal("positions", {embeddings(2, 2), matrix({{1, 2}, {3, 4}})},
                {{"method", std::string("sinusoidal")}}) ==
        "step: sinusoidal positions take no table: of = [\"token_embeddings\"]");
  CHECK(refusal("positions", {embeddings(2, 2)}, learned) ==
        "step: learned positions need their table: of = [\"token_embeddings\", "
        "\"position_table\"]");
}

}  // namespace ops_positions_tests
