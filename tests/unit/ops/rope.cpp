// rope beside hand arithmetic: a quarter turn and an eighth of one, by given angles; and beside
// NumPy, whose frequencies are written out as Hugging Face's modeling_rope_utils.py defines them.

#include <catch2/catch.hpp>
#include <cmath>
#include <numbers>

#include "support/calls.hpp"

namespace ops_rope_tests {

using namespace qkv::test;

namespace {

constexpr double pi = std::numbers::pi;
const OptionMap halves = {{"pairing", std::string("halves")}};

OptionMap scaled(std::string scaling) {
  return {{"scaling", std::move(scaling)},
          {"factor", 4.0},
          {"original_length", 64.0},
          {"base", 100.0},
          {"first", 2.0}};
}

// The angles that a row of pairs (1, 0) was turned by.
std::vector<double> angles(const OptionMap& options) {
  const Rows rotated = rows_of(apply("rope", {matrix({{1, 0, 1, 0, 1, 0}})}, options));
  std::vector<double> result;
  for (std::size_t j = 0; j < 6; j += 2) {
    result.push_back(std::atan2(rotated[0][j + 1], rotated[0][j]));
  }
  return result;
}

}  // namespace

TEST_CASE("a quarter turn brings a pair's first number to the second's place") {
  const qkv::Tensor quarters = matrix({{pi / 2, pi}});
  CHECK(difference(rows_of(apply("rope", {matrix({{3, 1, 5, 2}}), quarters})), {{-1, 3, -5, -2}},
                   1e-15) == "");
  CHECK(difference(rows_of(apply("rope", {matrix({{3, 1, 5, 2}}), quarters}, halves)),
                   {{-5, -1, 3, -2}}, 1e-15) == "");
}

TEST_CASE("position 0 turns nothing, position 1 the first pair by 1") {
  const Rows rotated = rows_of(apply("rope", {matrix({{1, 0, 2, 3}, {1, 0, 2, 3}})}));
  CHECK(difference({rotated[0]}, {{1, 0, 2, 3}}) == "");
  CHECK(rotated[1][0] == Approx(0.5403023058681398).epsilon(1e-15));
  CHECK(rotated[1][1] == Approx(0.8414709848078965).epsilon(1e-15));
  // 10000^(-2/4) is 0.01: 2·cos 0.01 − 3·sin 0.01.
  CHECK(rotated[1][2] == Approx(1.9699005008308306).epsilon(1e-14));
}

TEST_CASE("the formula says which columns are pairs and where positions begin") {
  const auto formula = [](const OptionMap& options) {
    const Work work("rope", {matrix({{1, 2, 3, 4}})}, options);
    return work.operation().form(work.call()).formula;
  };
  CHECK(formula({}) ==
        "each row of {0}, pairs of neighbours turned by position · base^(−2i/width)");
  CHECK(formula({{"pairing", std::string("halves")}, {"first", 7.0}}) ==
        "each row of {0}, pairs across its halves turned by position (from 7) · base^(−2i/width)");
}

TEST_CASE("columns behind the width stay as they are") {
  const Rows rotated =
      rows_of(apply("rope", {matrix({{1, 0, 7, 8}})}, {{"width", 2.0}, {"first", 1.0}}));
  CHECK(difference(rotated, {{0.5403023058681398, 0.8414709848078965, 7, 8}}, 1e-15) == "");
}

TEST_CASE("longer texts have the angles that transformers gives them") {
  // Position 2, base 100, three pairs: 2·100^(−i/3).
  CHECK(difference({angles({{"base", 100.0}, {"first", 2.0}})},
                   {{2, 0.4308869380063767, 0.09283177667225556}}, 1e-14) == "");
  CHECK(difference({angles(scaled("linear"))}, {{0.5, 0.10772173450159418, 0.02320794416806389}},
                   1e-14) == "");
  // 100 · 4^(6/4) is 800.
  CHECK(difference({angles(scaled("ntk"))}, {{2, 0.21544346900318834, 0.02320794416806389}},
                   1e-14) == "");
  // One row is no longer than 64.
  CHECK(difference({angles(scaled("dynamic"))}, {{2, 0.4308869380063767, 0.09283177667225556}},
                   1e-14) == "");
  CHECK(difference({angles(scaled("yarn"))}, {{2.0, 0.2693043362539855, 0.0232079441680639}},
                   1e-14) == "");
  CHECK(difference({angles(scaled("llama3"))}, {{2.0, 0.23639417813427802, 0.0232079441680639}},
                   1e-14) == "");
}

TEST_CASE("yarn makes the rows longer by its attention factor") {
  const Rows rotated = rows_of(apply("rope", {matrix({{3, 4}})}, scaled("yarn")));
  CHECK(std::hypot(rotated[0][0], rotated[0][1]) ==
        Approx(5 * (1 + 0.1 * std::log(4.0))).epsilon(1e-14));
}

TEST_CASE("what can't be turned is refused with what to do") {
  CHECK(refusal("rope", {matrix({{1, 2, 3}})}) ==
        "step: columns turn in pairs: 3 of the 3 columns of A (1×3) can't; set width to an even "
        "number of them");
  CHECK(refusal("rope", {matrix({{1, 2}})}, {{"scaling", std::string("linear")}}) ==
        "step: scaling = \"linear\" needs factor = …");
  CHECK(refusal("rope", {matrix({{1, 2}}), matrix({{1, 2}})}) ==
        "step: B (1×2) has no angle for each of the 1 pairs of columns of A (1×2)");
  CHECK(refusal("rope", {matrix({{1, 2}}), matrix({{1}})}, {{"base", 10.0}}) ==
        "step: base says nothing where the angles are given (B (1×1))");
}

TEST_CASE("a turn by an angle that is only nearly known ranges over all of its circle") {
  const Work work("rope", {matrix({{1, 0}}), matrix({{0}})});
  const qkv::Tensor low = matrix({{-0.1}});
  const qkv::Tensor high = matrix({{0.2}});
  const qkv::Tensor& x = work.inputs()[0];
  const qkv::Bounds bounds[] = {{&x, &x}, {&low, &high}};
  qkv::Cell<qkv::Interval> cell;
  cell.call = &work.call();
  cell.output = &x;
  cell.bounds = bounds;
  const qkv::Interval cosine = work.operation().cell.interval(cell);
  CHECK(cosine.low == Approx(std::cos(0.2)).epsilon(1e-15));
  CHECK(cosine.high == 1);
}

}  // namespace ops_rope_tests
