// cross_entropy and gradient_step beside PyTorch and hand arithmetic.

#include <catch2/catch.hpp>

#include "check/submissions.hpp"
#include "support/calls.hpp"

namespace ops_loss_tests {

using namespace qkv::test;

namespace {

const qkv::Tensor logits = matrix({{1.5, 0.25, -1}, {0.5, 2, 0.75}});

qkv::Tensor loss(const qkv::Tensor& targets, const std::string& reduction) {
  return apply("cross_entropy", {logits, targets}, {{"reduction", reduction}});
}

}  // namespace

TEST_CASE("a loss is minus the logarithm of the target's softmax") {
  // torch.nn.functional.cross_entropy(logits, torch.tensor([0, 2]), reduction=…)
  CHECK(difference(rows_of(loss(vector({0, 2}), "none")), {{0.31378086}, {1.66186787}}, 1e-8) ==
        "");
  CHECK(difference(rows_of(loss(vector({0, 2}), "sum")), {{1.97564873}}, 1e-8) == "");
  CHECK(difference(rows_of(loss(vector({0, 2}), "mean")), {{0.98782437}}, 1e-8) == "");
}

TEST_CASE("targets may stand in a column, or be shares of 1") {
  CHECK(difference(rows_of(loss(matrix({{0}, {2}}), "sum")), {{1.97564873}}, 1e-8) == "");
  CHECK(difference(rows_of(loss(matrix({{0.8, 0.1, 0.1}, {0, 0.25, 0.75}}), "sum")), {{2.03814873}},
                   1e-8) == "");
}

TEST_CASE("each sentence of a batch has its targets and its loss") {
  const qkv::Tensor batch = stack({{{0, 0}}, {{0, 0}}}, "batch");
  const qkv::Tensor losses = apply("cross_entropy", {batch, matrix({{0}, {1}})});
  CHECK(losses.shape() == qkv::Shape{2, 1, 1});
  CHECK(losses.values[0] == Approx(0.6931471805599453));
}

TEST_CASE("a target that the vocabulary lacks is told with its place") {
  CHECK(refusal("cross_entropy", {logits, vector({0, 3})}) ==
        "step: number 2 of B is 3; a target is a whole number from 0 to 2, a column of A");
  CHECK(refusal("cross_entropy", {logits, vector({0.5, 1})}) ==
        "step: number 1 of B is 0.5; a target is a whole number from 0 to 2, a column of A");
  CHECK(refusal("cross_entropy", {logits, vector({0, 1, 2})}) ==
        "step: token is 2 in A (2×3) but 3 in B (3)");
  CHECK(refusal("cross_entropy", {logits, matrix({{1, 0, 0}, {0.5, 0, 0}})}) ==
        "step: row 2 of B sums to 0.5; the probabilities of a row sum to 1");
}

TEST_CASE("a step goes against the gradient, as far as the rate says") {
  CHECK(difference(rows_of(apply("gradient_step", {matrix({{1, 2}}), matrix({{-4, 0.5}})},
                                 {{"rate", 0.25}})),
                   {{2, 1.875}}) == "");
}

TEST_CASE("the mistakes of a loss and of a step are named") {
  const Task task(R"(
title = "Loss"
[[given]]
name = "logits"
value = [[1.5, 0.25, -1.0], [0.5, 2.0, 0.75]]
[[given]]
name = "targets"
value = [0, 2]
[[given]]
name = "d_logits"
value = [[-0.25, 0.125, 0.125], [0.5, -1.0, 0.5]]
[[step]]
name = "loss"
op = "cross_entropy"
of = ["logits", "targets"]
[[step]]
name = "moved"
op = "gradient_step"
of = ["logits", "d_logits"]
rate = 0.1
)");
  const auto named = [&](const std::string& step, const std::string& written) {
    return mistakes(checked(task, {{step, written}}), step);
  };
  CHECK(named("loss", "0.9878").empty());
  CHECK(named("loss", "-0.9878").find("cross-entropy.no-minus") != std::string::npos);
  CHECK(named("loss", "1.4251") == "cross-entropy.base-2");
  CHECK(named("loss", "1.9756") == "cross-entropy.sum");
  CHECK(named("moved", "1.4750,0.2625,-0.9875\n0.5500,1.9000,0.8000") == "gradient-step.sign");
  CHECK(named("moved", "1.7500,0.1250,-1.1250\n0.0000,3.0000,0.2500") == "gradient-step.rate");
  CHECK(named("moved", "1.5025,0.2488,-1.0013\n0.4950,2.0100,0.7450") == "gradient-step.rate");
}

}  // namespace ops_loss_tests
