// multiply beside hand arithmetic, and SwiGLU's mistakes beside NumPy.

#include <catch2/catch.hpp>

#include "check/submissions.hpp"
#include "support/calls.hpp"

namespace ops_multiply_tests {

using namespace qkv::test;

namespace {

// SwiGLU of one token; `of` are the factors.
Task swiglu(const std::string& of) {
  return Task(R"(
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
of = )" + of);
}

}  // namespace

TEST_CASE("multiply takes cell by cell, and adds nothing up") {
  CHECK(difference(
            rows_of(apply("multiply", {matrix({{1, 2}, {3, -4}}), matrix({{5, 0}, {0.5, 2}})})),
            {{5, 0}, {1.5, -8}}) == "");
}

TEST_CASE("one matrix is multiplied with every head's") {
  const qkv::Tensor heads = apply("multiply", {stack({{{1, 2}}, {{3, 4}}}), matrix({{10, 100}})});
  CHECK(difference(rows_of(heads, 0), {{10, 200}}) == "");
  CHECK(difference(rows_of(heads, 1), {{30, 400}}) == "");
}

TEST_CASE("the range of a number times itself does not go below 0") {
  const qkv::Tensor low = matrix({{-1}});
  const qkv::Tensor high = matrix({{2}});
  const Work work("multiply", {low, low});
  qkv::Call call = work.call();
  const qkv::Bounds bounds[] = {{&low, &high}, {&low, &high}};
  qkv::Cell<qkv::Interval> cell;
  cell.call = &call;
  cell.output = &low;
  cell.bounds = bounds;
  CHECK(work.operation().cell.interval(cell).low == -2);  // two numbers that happen to be alike
  call.inputs[1] = call.inputs[0];
  CHECK(work.operation().cell.interval(cell).low == 0);
  CHECK(work.operation().cell.interval(cell).high == 4);
}

TEST_CASE("who gates in another way is told so, whichever factor comes first") {
  for (const std::string of : {R"(["silu", "up"])", R"(["up", "silu"])"}) {
    const Task task = swiglu(of);
    const auto named = [&](const std::string& written) {
      return mistakes(checked(task, {{"gated", written}}), "gated");
    };
    CHECK(named("2.1932,-0.1192").empty());
    CHECK(named("2.8577,-0.6225") == "swiglu.swapped");
    CHECK(named("2.8577,-0.2689") == "swiglu.of-product");
    CHECK(named("2.1932,0.0596") == "swiglu.sigmoid");
    CHECK(named("3.0000,0.0000") == "swiglu.relu");
    CHECK(named("2.5240,-0.0228") == "swiglu.gelu");
    CHECK(named("2.5236,-0.0227") == "swiglu.gelu");
    CHECK(named("3.7311,0.2616") == "swiglu.added");
  }
}

}  // namespace ops_multiply_tests
