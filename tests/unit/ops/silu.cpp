// silu beside NumPy: x / (1 + np.exp(-x)).

#include <catch2/catch.hpp>
#include <cmath>

#include "check/submissions.hpp"
#include "support/calls.hpp"

namespace ops_silu_tests {

using namespace qkv::test;

namespace {

qkv::Interval range(double low, double high) {
  const qkv::Tensor lowest = matrix({{low}});
  const qkv::Tensor highest = matrix({{high}});
  const Work work("silu", {lowest});
  const qkv::Bounds bounds[] = {{&lowest, &highest}};
  qkv::Cell<qkv::Interval> cell;
  cell.call = &work.call();
  cell.output = &lowest;
  cell.bounds = bounds;
  return work.operation().cell.interval(cell);
}

// SwiGLU of one token.
const Task& swiglu() {
  static const Task task(R"(
title = "SwiGLU"
[[given]]
name = "gate"
value = [[1, -2]]
[[given]]
name = "up"
value = [[3, 0.5]]
[[step]]
name = "silu"
op = "silu"
of = ["gate"]
[[step]]
name = "gated"
op = "multiply"
of = ["silu", "up"]
)");
  return task;
}

std::string named(const std::string& written) {
  return mistakes(checked(swiglu(), {{"silu", written}}), "silu");
}

}  // namespace

TEST_CASE("silu gives NumPy's numbers") {
  CHECK(difference(rows_of(apply("silu", {matrix({{-3, -1, 0, 0.5, 1, 3}})})),
                   {{-0.14227761953270035, -0.2689414213699951, 0, 0.3112296656009273,
                     0.7310585786300049, 2.8577223804672998}},
                   1e-15) == "");
}

TEST_CASE("silu of huge numbers is the number itself or 0") {
  CHECK(difference(rows_of(apply("silu", {matrix({{-1e200, 1e200}})})), {{0, 1e200}}) == "");
}

TEST_CASE("where the lowest point lies between, the range of silu begins there") {
  // At x = -1.2784645427610738 it is x + 1, since there e^(−x) is −1 − x.
  CHECK(range(-3, 0).low == Approx(-0.2784645427610738).epsilon(1e-14));
  CHECK(range(-3, 0).high == 0);
  CHECK(range(-3, -2).low == Approx(-2 / (1 + std::exp(2))).epsilon(1e-14));
  CHECK(range(0, 1).high == Approx(0.7310585786300049).epsilon(1e-14));
}

TEST_CASE("who takes another gate for SiLU, or the other matrix, is told so") {
  CHECK(mistakes(checked(swiglu(), {{"silu", "0.7311,-0.2384"}}), "silu").empty());
  CHECK(named("0.7311,0.1192") == "swiglu.sigmoid");
  CHECK(named("1.0000,0.0000") == "swiglu.relu");
  CHECK(named("0.8413,-0.0455") == "swiglu.gelu");
  CHECK(named("0.8412,-0.0454") == "swiglu.gelu");
  CHECK(named("2.8577,0.3112") == "swiglu.swapped");
}

}  // namespace ops_silu_tests
