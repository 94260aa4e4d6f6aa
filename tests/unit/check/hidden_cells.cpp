#include <catch2/catch.hpp>

#include "check/submissions.hpp"

/// Rows of which a mask leaves little to round.
namespace {

using namespace qkv;
using namespace qkv::test;

/// The same three ways to write softmax: scores of 0.3, …, V = 2 3
///                                                            4 5
///                                                            1 1
Task softmax_in(const std::string& steps) {
  return Task(R"(
title = "Three words"
summary = "s"
source = "by hand"
[[given]]
name = "scores"
value = [[0.37, 9, 9], [-4.12, -5.23, 9], [0.12, -6.34, 0.57]]
[[given]]
name = "V"
value = [[2, 3], [4, 5], [1, 1]]
[[step]]
name = "scaled_scores"
op = "scale"
of = ["scores"]
by = 3
[[step]]
name = "masked_scores"
op = "mask"
of = ["scaled_scores"]
kind = "causal"
)" + steps + R"(
[[step]]
name = "context"
op = "weighted_sum"
of = ["attention_weights", "V"]
)");
}

const Task& at_once() {
  static const Task task = softmax_in(R"(
[[step]]
name = "attention_weights"
op = "softmax"
of = ["masked_scores"]
)");
  return task;
}

const Task& in_strides() {
  static const Task task = softmax_in(R"(
[[step]]
name = "exps"
op = "exp"
of = ["masked_scores"]
[[step]]
name = "attention_weights"
op = "normalise"
of = ["exps"]
)");
  return task;
}

// By NumPy: the weights are 1, 0, 0; 0.591, 0.409, 0; 0.439, 0.051, 0.510.
TEST_CASE("the weight of the only key that is seen is 1, whatever its score was rounded to") {
  for (const Task* task : {&at_once(), &in_strides()}) {
    CHECK(verdicts(checked(*task, {{"attention_weights", "1.0,0,0\n0.6,0.4,0\n0.4,0.1,0.5\n"}}),
                   "attention_weights") == "ccc ccc ccc");
    CHECK(verdicts(checked(*task, {{"attention_weights", "1.1,0,0\n0.6,0.4,0\n0.4,0.1,0.5\n"}}),
                   "attention_weights") == "wcc ccc ccc");
    CHECK(verdicts(checked(*task, {{"attention_weights", "1.0,0.1,0\n0.6,0.4,0\n0.4,0.1,0.5\n"}}),
                   "attention_weights") == "cwc ccc ccc");
  }
}

// e^(-9) is 0.0001234: with three decimals it is 0.000, and its share of itself is 0 / 0.
TEST_CASE("the only weight of a row may be 0 where its power of e may have been rounded to 0") {
  static const Task task(R"(
title = "t"
summary = "s"
[[given]]
name = "scores"
value = [[-9], [0.5]]
[[step]]
name = "exps"
op = "exp"
of = ["scores"]
[[step]]
name = "attention_weights"
op = "normalise"
of = ["exps"]
)");
  const auto of = [](const char* text) {
    return verdicts(checked(task, {{"attention_weights", text}}), "attention_weights");
  };
  CHECK(of("0.000\n1.000\n") == "u c");
  CHECK(of("1.000\n0.990\n") == "c w");
}

// By NumPy: 2, 3; 2.818, 3.818; 1.591, 2.082.
TEST_CASE("the context of the only key that is seen is its value") {
  for (const Task* task : {&at_once(), &in_strides()}) {
    CHECK(verdicts(checked(*task, {{"context", "2.0,3.0\n2.8,3.8\n1.6,2.1\n"}}), "context") ==
          "cc cc cc");
    CHECK(verdicts(checked(*task, {{"context", "2.1,3.0\n2.8,3.8\n1.6,2.1\n"}}), "context") ==
          "wc cc cc");
    CHECK(verdicts(checked(*task, {{"scaled_scores", "0.1,3,3\n-1.4,-1.7,3\n0,-2.1,0.2\n"},
                                   {"context", "3.0,3.0\n2.8,3.8\n1.6,2.1\n"}}),
                   "context") == "wc cc cc");
  }
}

// By NumPy: the powers are 1.131; 0.253, 0.175; 1.041, 0.121, 1.209. With one decimal those of the
// second row are 0.3 and 0.2, their true range with a unit on either side [0.2, 0.4] and [0.1,
// 0.3]: the weights are [0.4, 0.8] and [0.2, 0.6].
TEST_CASE("a share of powers of e is between 0 and 1, however coarsely they were rounded") {
  const std::string powers = "1.1,0,0\n0.3,0.2,0\n1.0,0.1,1.2\n";
  const auto of_weights = [&](const std::string& second) {
    const std::string weights = "1.0,0.0,0.0\n" + second + "\n0.4,0.1,0.5\n";
    return verdicts(checked(in_strides(), {{"exps", powers}, {"attention_weights", weights}}),
                    "attention_weights");
  };
  CHECK(of_weights("0.6,0.4,0.0") == "ccc ccc ccc");
  CHECK(of_weights("0.4,0.6,0.0") == "ccc rrc ccc");
  CHECK(of_weights("1.1,0.0,0.0") == "ccc wwc ccc");
}

TEST_CASE("powers of e that were rounded to nothing leave shares of 1 at most") {
  static const Task task = [] {
    return Task(R"(
title = "Small powers"
summary = "s"
source = "by hand"
[[given]]
name = "scores"
value = [[-4.5, -3.7, -4.1], [-9.1, -8.2, -7.7]]
[[step]]
name = "exps"
op = "exp"
of = ["scores"]
[[step]]
name = "attention_weights"
op = "normalise"
of = ["exps"]
)");
  }();
  // e^-4.5 = 0.011, e^-3.7 = 0.025, e^-4.1 = 0.017; the others are below 0.001.
  const Texts texts = {{"exps", "0.0,0.0,0.0\n0.0,0.0,0.0\n"},
                       {"attention_weights", "0.2,0.5,0.3\n1000.0,-0.2,1.2\n"}};
  CHECK(verdicts(checked(task, texts), "attention_weights") == "ccc www");
}

}  // namespace
