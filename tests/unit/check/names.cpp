#include <catch2/catch.hpp>
#include <numeric>

#include "check/intake/step_names.hpp"
#include "check/submissions.hpp"
#include "formats/arrays/dtype.hpp"
#include "support/calls.hpp"

namespace check_names_tests {

/// Arrays under the names of other programs, and names that only a lesson's other names explain.
namespace {

using namespace qkv;
using namespace qkv::test;
using Numbers = std::vector<double>;

// A model of two layers, as far as its names and shapes.
Trace two_layers() {
  Trace trace;
  const Tensor two = matrix({{0, 0}, {0, 0}});
  for (const char* name : {"token_embeddings", "h0.Q", "h0.K", "h0.V", "h0.residual2", "h1.Q",
                           "d_h0.W_Q", "d_h0.W_K", "d_h0.W_V"}) {
    trace.add(Given{name, two});
  }
  return trace;
}

NamedArray array(std::string name, Shape shape) {
  Numbers numbers(std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>()));
  std::iota(numbers.begin(), numbers.end(), 1);
  return {std::move(name), array_of_values(std::move(shape), numbers, Precision::float64)};
}

Numbers numbers_of(const ParsedArray& array) {
  Numbers numbers;
  for (const Numeral& cell : array.cells) numbers.push_back(cell.value);
  return numbers;
}

std::string adopt(std::vector<NamedArray>& arrays) {
  return adopt_scheme(
      {}, two_layers(), [](std::string_view) { return false; }, arrays);
}

TEST_CASE("a fused projection is cut into queries, keys and values") {
  std::vector<NamedArray> arrays = {array("transformer.wte", {2, 2}),
                                    array("transformer.h.0.attn.c_attn", {1, 2, 6})};
  CHECK(adopt(arrays) == "gpt2: names of the modules of GPT-2 (minGPT, nanoGPT, Hugging Face)");
  REQUIRE(arrays.size() == 4);
  CHECK(arrays[0].name == "token_embeddings");
  CHECK(arrays[1].name == "h0.Q");
  CHECK(arrays[2].name == "h0.K");
  CHECK(arrays[3].name == "h0.V");
  CHECK(arrays[1].written.shape == Shape{1, 2, 2});
  CHECK(numbers_of(arrays[1].written) == Numbers{1, 2, 7, 8});
  CHECK(numbers_of(arrays[2].written) == Numbers{3, 4, 9, 10});
  CHECK(numbers_of(arrays[3].written) == Numbers{5, 6, 11, 12});
}

TEST_CASE("a fused weight's gradient as PyTorch stores it is cut along its rows") {
  std::vector<NamedArray> arrays = {array("h.0.attn.c_attn.weight.grad", {6, 2})};
  adopt(arrays);
  REQUIRE(arrays.size() == 3);
  CHECK(arrays[1].name == "d_h0.W_K");
  CHECK(arrays[1].written.shape == Shape{2, 2});
  CHECK(numbers_of(arrays[1].written) == Numbers{5, 6, 7, 8});
}

TEST_CASE("a layer's input is the output of the layer before it") {
  std::vector<NamedArray> arrays = {array("blocks.1.hook_resid_pre", {2, 2}),
                                    array("blocks.1.attn.hook_q", {2, 2})};
  CHECK(adopt(arrays) == "transformerlens: names of TransformerLens's hooks");
  CHECK(arrays[0].name == "h0.residual2");
  CHECK(arrays[1].name == "h1.Q");
}

TEST_CASE("indices in a file's name go by the names of their axes, in any order") {
  Trace trace;
  Tensor q = zeros({{"batch", 2}, {"head", 3}, {"token", 1}, {"d_k", 1}});
  trace.add(Given{"Q", std::move(q)});
  CHECK(step_name("Q.batch-1.head-3", trace, "file")->leading == std::vector<std::size_t>{0, 2});
  CHECK(step_name("Q.head-3.batch-1", trace, "file")->leading == std::vector<std::size_t>{0, 2});
}

const Task& with_a_loss() {
  static const Task task(R"(
title = "A loss that is not the last step"
[[given]]
name = "x"
value = [[1, 2]]
[[given]]
name = "w"
value = [[3], [4]]
[[step]]
name = "loss"
op = "matmul"
of = ["x", "w"]
[[step]]
name = "other"
op = "matmul"
of = ["x", "w"]
[[step]]
name = "last"
op = "matmul"
of = ["w", "x"]
)");
  return task;
}

TEST_CASE("gradients begin at the step that is called loss") {
  const LoadedLesson loaded =
      with_gradients({with_a_loss().lesson, with_a_loss().trace}, {"unused"});
  CHECK(loaded.trace.find("d_loss") != nullptr);
  CHECK(loaded.trace.find("d_other") == nullptr);
  REQUIRE(loaded.trace.find("d_x") != nullptr);
  CHECK(loaded.trace.find("d_x")->values == Numbers{3, 4});
}

const Task& split() {
  static const Task task(R"(
title = "Two heads of two rows"
[[given]]
name = "X"
value = [[1, 0, 2, 1], [0, 1, 1, 3]]
[[step]]
name = "halves"
op = "split_heads"
of = ["X"]
heads = 2
)");
  return task;
}

CheckReport report_on_halves(Shape shape, const Numbers& numbers,
                             const std::vector<std::size_t>& leading = {}) {
  Submission work = submission_of({{"halves", "0,0\n0,0\n"}}, split().trace);
  work.files[0].written = array_of_values(std::move(shape), numbers, Precision::float64);
  work.files[0].leading = leading;
  return check_submission(split().lesson, split().trace, work, {});
}

TEST_CASE("two heads of two rows may be the middle axis") {
  const CheckReport report = report_on_halves({2, 2, 2}, {1, 0, 2, 1, 0, 1, 1, 3});
  CHECK(verdicts(report, "halves") == "cc cc cc cc");
  CHECK(report.steps.front().accepted_convention == "convention.heads-inside");
}

TEST_CASE("one head's file of another size is a wrong shape") {
  CHECK(verdicts(report_on_halves({2, 2}, {1, 0, 0, 1}, {0}), "halves") == "cc cc bb bb");
  CHECK(verdicts(report_on_halves({2, 3}, {1, 0, 0, 0, 1, 0}, {0}), "halves") == "shape");
}

TEST_CASE("a number too large for its decimals stays as it is") {
  CHECK(rounded(2.345, 1) == Approx(2.3));
  CHECK(rounded(-2.35, 0) == -2);
  CHECK(rounded(99261.79780543044, 12) ==
        99261.79780543044);  // times 1e12 and back it is another number
}

}  // namespace

}  // namespace check_names_tests
