#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "support/calls.hpp"

namespace ops_softmax_tests {

using namespace qkv::test;

namespace {
constexpr double inf = std::numeric_limits<double>::infinity();
const OptionMap down_the_columns = {{"axis", std::string("columns")}};
}  // namespace

// The decimals were printed by NumPy 1.24.2: e = np.exp(x - x.max(1)); e / e.sum(1).
TEST_CASE("softmax gives NumPy's weights") {
  CHECK(difference(rows_of(apply("softmax", {matrix({{1, 2, 3}, {0, 0, 0}, {-1, 0.5, 1000}})})),
                   {{0.09003057317038043, 0.24472847105479767, 0.6652409557748218},
                    {0.3333333333333333, 0.3333333333333333, 0.3333333333333333},
                    {0, 0, 1}},
                   1e-16) == "");
}

TEST_CASE("softmax down the columns is softmax of the matrix turned over") {
  CHECK(difference(rows_of(apply("softmax", {matrix({{1, 0}, {2, 0}, {3, 0}})}, down_the_columns)),
                   {{0.09003057317038043, 0.3333333333333333},
                    {0.24472847105479767, 0.3333333333333333},
                    {0.6652409557748218, 0.3333333333333333}},
                   1e-16) == "");
}

TEST_CASE("a hidden score has weight exactly 0") {
  CHECK(difference(rows_of(apply("softmax", {matrix({{0, 0, -inf}, {-inf, 5, -inf}})})),
                   {{0.5, 0.5, 0}, {0, 1, 0}}) == "");
}

TEST_CASE("a row in which everything is hidden has no weights: zeros") {
  CHECK(difference(rows_of(apply("softmax", {matrix({{-inf, -inf}, {1, 1}})})),
                   {{0, 0}, {0.5, 0.5}}) == "");
  CHECK(difference(rows_of(apply("softmax", {matrix({{-inf, 1}, {-inf, 1}})}, down_the_columns)),
                   {{0, 0.5}, {0, 0.5}}) == "");
}

TEST_CASE("shift, exp and normalise make zeros of a hidden row, each in its own way") {
  const auto shifted = apply("shift", {matrix({{-inf, -inf}, {3, -inf}})});
  CHECK(difference(rows_of(shifted), {{-inf, -inf}, {0, -inf}}) == "");
  const auto raised = apply("exp", {shifted});
  CHECK(difference(rows_of(raised), {{0, 0}, {1, 0}}) == "");
  CHECK(difference(rows_of(apply("normalise", {raised})), {{0, 0}, {1, 0}}) == "");
}

TEST_CASE("scores of +inf share the row among themselves") {
  CHECK(difference(rows_of(apply("softmax", {matrix({{inf, 1, inf}, {inf, -inf, 1e300}})})),
                   {{0.5, 0, 0.5}, {1, 0, 0}}) == "");
  CHECK(difference(rows_of(apply("shift", {matrix({{inf, 1, inf}})})), {{0, -inf, 0}}) == "");
}

TEST_CASE("huge scores saturate without NaN") {
  CHECK(difference(
            rows_of(apply(
                "softmax",
                {matrix({{1e300, -1e300, 0}, {-1e300, -1e300, -1e300}, {1e300, 1e300, -1e300}})})),
            {{1, 0, 0}, {1 / 3.0, 1 / 3.0, 1 / 3.0}, {0.5, 0.5, 0}}) == "");
}

TEST_CASE("one token attends to itself, no tokens attend to nothing") {
  CHECK(difference(rows_of(apply("softmax", {matrix({{-7}})})), {{1}}) == "");
  CHECK(apply("softmax", {matrix({})}).shape() == qkv::Shape{0, 0});
  CHECK(apply("softmax", {matrix({})}, down_the_columns).shape() == qkv::Shape{0, 0});
  CHECK(apply("softmax", {qkv::zeros({{"", 0}, {"", 3}})}, down_the_columns).shape() ==
        qkv::Shape{0, 3});
  CHECK(apply("softmax", {qkv::zeros({{"", 3}, {"", 0}})}).shape() == qkv::Shape{3, 0});
}

TEST_CASE("shift takes the largest number of each row, or of each column, from all of it") {
  CHECK(difference(rows_of(apply("shift", {matrix({{1, 4}, {-2, -3}})})), {{-3, 0}, {0, -1}}) ==
        "");
  CHECK(difference(rows_of(apply("shift", {matrix({{1, 4}, {-2, -3}})}, down_the_columns)),
                   {{0, 0}, {-3, -7}}) == "");
}

TEST_CASE("normalise divides by the sum of each row and leaves a row of zeros alone") {
  CHECK(difference(rows_of(apply("normalise", {matrix({{1, 3}, {0, 0}, {5, 0}})})),
                   {{0.25, 0.75}, {0, 0}, {1, 0}}) == "");
}

namespace {

/// The cell of a result's first row in that column, as one reading sees it.
template <class N>
qkv::Cell<N> cell_of(const Work& work, const qkv::Tensor& result, std::size_t column) {
  qkv::Cell<N> cell;
  cell.call = &work.call();
  cell.output = &result;
  cell.column = column;
  return cell;
}

/// The weight to its last decimal, of scores that are known so.
qkv::Decimal decimal_weight(const std::vector<double>& scores, std::size_t column) {
  const Work work("softmax", {matrix({scores})});
  const qkv::Tensor result = work.result();
  const std::vector<qkv::Decimal> decimals(scores.begin(), scores.end());
  const std::array<std::span<const qkv::Decimal>, 1> operands = {decimals};
  auto cell = cell_of<qkv::Decimal>(work, result, column);
  cell.decimals = operands;
  return work.operation().cell.decimal(cell);
}

}  // namespace

TEST_CASE("the arithmetic of scores of +inf counts each of them once") {
  const Work work("softmax", {matrix({{inf, 1, inf}})});
  const qkv::Tensor result = work.result();
  const auto expression =
      work.operation().cell.expression(cell_of<qkv::Expression>(work, result, 0));
  CHECK(expression.value() == 0.5);
  CHECK(expression.parts().front().value() == 1);
}

TEST_CASE("a weight has an end where one score alone is seen, and where none is") {
  CHECK(decimal_weight({0.5, -inf}, 0).value() == 1);
  CHECK(decimal_weight({0.5, -inf}, 1).value() == 0);
  CHECK(decimal_weight({0.5, 1.5, -inf}, 2).value() == 0);
  CHECK(decimal_weight({2, 2}, 0).value() == 0.5);
  CHECK_FALSE(decimal_weight({0.5, 1.5}, 0).is_exact());
}

TEST_CASE("the weights of a row as long as a vocabulary are computed where they are read") {
  constexpr std::size_t others = 19999;
  std::vector<std::vector<double>> scores(2, std::vector<double>(others + 1, 0));
  scores[0][7] = std::log(others);  // as much as all others together
  const qkv::Tensor weights = apply("softmax", {matrix(scores)});
  CHECK_FALSE(weights.values.are_stored());
  CHECK(weights.at(0, 0, 7) == Approx(0.5).epsilon(1e-12));
  CHECK(weights.at(0, 0, 8) == Approx(0.5 / others).epsilon(1e-12));
  CHECK(weights.at(0, 1, 7) == Approx(1.0 / (others + 1)).epsilon(1e-12));
  scores[1].assign(others + 1, -inf);  // everything is hidden
  CHECK(apply("softmax", {matrix(scores)}).at(0, 1, 7) == 0);
}

}  // namespace ops_softmax_tests
