// multiply beside hand arithmetic, and the mistakes of gates beside NumPy.

#include <catch2/catch.hpp>

#include "check/submissions.hpp"
#include "support/calls.hpp"

namespace ops_multiply_tests {

using namespace qkv::test;

namespace {

// A gate of one token with its function `op`; `of` are the factors of the product.
Task gated_by(const std::string& op, const std::string& of) {
  return Task(R"(
title = "A gate"
[[given]]
name = "gate"
value = [[1, -2]]
[[given]]
name = "up"
value = [[3, 0.5]]
[[step]]
name = "active"
of = ["gate"]
op = ")" + op +
              R"("
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
  for (const std::string of : {R"(["active", "up"])", R"(["up", "active"])"}) {
    const Task task = gated_by("silu", of);
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

TEST_CASE("gate and up exchanged are told under GELU, too, at the function and at the product") {
  const Task task(R"(
title = "A gate"
[[given]]
name = "X"
value = [[1, 2]]
[[given]]
name = "W_gate"
value = [[1, 0], [0, -1]]
[[given]]
name = "W_up"
value = [[3, 0.5], [0, 0]]
[[step]]
name = "gate"
op = "project"
of = ["X", "W_gate"]
[[step]]
name = "active"
op = "gelu"
of = ["gate"]
[[step]]
name = "up"
op = "project"
of = ["X", "W_up"]
[[step]]
name = "gated"
op = "multiply"
of = ["active", "up"]
)");
  const std::map<std::string, std::string> right = {{"gate", "1,-2"}, {"up", "3,0.5"}};
  const auto named = [&](const std::string& step, const std::string& written) {
    auto files = right;
    files.emplace(step, written);
    return mistakes(checked(task, files), step);
  };
  CHECK(named("gated", "2.5236,-0.0227").empty());
  CHECK(named("gated", "2.9964,-0.6914") == "swiglu.swapped");
  CHECK(named("gated", "3.0000,-1.0000") == "swiglu.no-silu");
  CHECK(named("active", "0.8412,-0.0454").empty());
  CHECK(named("active", "2.9964,0.3457") == "swiglu.swapped");
}

TEST_CASE("a product with GELU that is no gate has none of a gate's mistakes") {
  const Task task = gated_by("gelu", R"(["active", "up"])");  // of givens
  CHECK(mistakes(checked(task, {{"gated", "3.0000,-1.0000"}}), "gated").empty());
  CHECK(mistakes(checked(task, {{"active", "2.9964,0.3457"}}), "active").empty());
}

}  // namespace ops_multiply_tests
