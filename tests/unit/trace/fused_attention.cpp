#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "support/calls.hpp"
#include "trace/trace.hpp"

namespace trace_fused_attention_tests {

using namespace qkv;
using namespace qkv::test;

namespace {

// Numbers that differ from cell to cell, from -1 to 1.
Tensor waves(const std::vector<Axis>& axes, double pace) {
  Tensor tensor = qkv::zeros(axes);
  const auto cells = tensor.values.mutable_span();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = std::sin(pace * static_cast<double>(i % 99991));
  }
  return tensor;
}

struct Attention {
  Recipe recipe;
  std::string last = "Q";

  Attention(Tensor q, Tensor k, Tensor v) {
    recipe.givens = {{"Q", std::move(q)}, {"K", std::move(k)}, {"V", std::move(v)}};
    step("scores", "score", {"Q", "K"});
  }
  Attention& step(std::string name, std::string_view op, std::vector<std::string> of,
                  const OptionMap& options = {}) {
    StepRecipe made{name, find_operation(op), std::move(of), {}};
    for (const auto& [key, value] : options) made.options.set(key, value);
    recipe.steps.push_back(std::move(made));
    last = std::move(name);
    return *this;
  }
  Attention& then(std::string_view op, const OptionMap& options = {}) {
    const std::string of = last;
    return step(std::string(op) + "ed", op, {of}, options);
  }
  Recipe end() {
    then("softmax").step("context", "weighted_sum", {last, "V"});
    return step("output", "relu", {"context"}).recipe;
  }
};

// 1,200 tokens, so many heads of queries and of keys, and sentences where there are several.
Attention attention(std::size_t heads, std::size_t shared, std::size_t sentences = 0,
                    std::size_t queries = 1200) {
  const auto axes = [&](std::size_t own, std::string_view rows, std::size_t size) {
    std::vector<Axis> all = {{"head", own}, {std::string(rows), size}, {"d_k", 8}};
    if (sentences > 0) all.insert(all.begin(), {"batch", sentences});
    return all;
  };
  return {waves(axes(heads, "query", queries), 0.7), waves(axes(shared, "key", 1200), 1.3),
          waves(axes(shared, "key", 1200), 2.1)};
}

// The largest difference between what comes with everything kept and with the output alone.
double difference_unseen(const Recipe& recipe) {
  const Tensor kept = evaluate(recipe).at("output");
  const Trace trace = evaluate_all(recipe, {"output"}).trace;
  CHECK(trace.find("scores") == nullptr);
  CHECK(trace.find("softmaxed") == nullptr);
  const Tensor& alone = trace.at("output");
  REQUIRE(alone.shape() == kept.shape());
  double most = 0;
  double largest = 0;
  for (std::size_t i = 0; i < kept.values.size(); ++i) {
    most = std::max(most, std::abs(alone.values[i] - kept.values[i]));
    largest = std::max(largest, std::abs(kept.values[i]));
  }
  REQUIRE(largest > 0);
  return most / largest;
}

constexpr double last_bits = 1e-12;

}  // namespace

TEST_CASE("a large output is the same whether what leads to it is kept or not") {
  CHECK(difference_unseen(attention(1, 1).end()) <= last_bits);
  CHECK(difference_unseen(attention(2, 2).then("scale").then("mask").end()) <= last_bits);
  CHECK(difference_unseen(attention(1, 1)
                              .then("scale")
                              .then("softcap", {{"cap", 2.0}})
                              .then("alibi")
                              .then("mask", {{"kind", "sliding_window"}, {"width", 50.0}})
                              .end()) <= last_bits);
}

TEST_CASE("so it is where heads are shared, in a batch, and where queries are the last tokens") {
  CHECK(difference_unseen(attention(4, 2).then("mask").end()) <= last_bits);
  CHECK(difference_unseen(attention(2, 1, 2).then("scale").then("mask").end()) <= last_bits);
  CHECK(difference_unseen(attention(2, 2, 0, 900).then("mask").then("scale").end()) <= last_bits);
  CHECK(difference_unseen(
            attention(1, 1)
                .then("mask", {{"kind", "sliding_window"}, {"width", 9.0}, {"both", true}})
                .end()) <= last_bits);
}

TEST_CASE("weights that are hidden by a softcap's -cap are not left out") {
  const Recipe recipe = attention(1, 1).then("mask").then("softcap", {{"cap", 0.5}}).end();
  CHECK(difference_unseen(recipe) <= last_bits);
}

TEST_CASE("queries that see nothing take nothing") {
  Attention work = attention(1, 1);
  Tensor keep = qkv::zeros({{"query", 1200}, {"key", 1200}});
  for (std::size_t i = 0; i < 1200; ++i) keep.values.mutable_span()[600 * 1200 + i] = 1;
  work.recipe.givens.push_back({"keep", std::move(keep)});
  const Recipe recipe = work.step("masked", "mask", {"scores", "keep"}, {{"kind", "given"}}).end();
  CHECK(difference_unseen(recipe) <= last_bits);
  const Tensor output = evaluate_all(recipe, {"output"}).trace.at("context");
  CHECK(output.at(0, 599, 0) == 0);
  CHECK(output.at(0, 600, 0) != 0);
}

TEST_CASE("the weights that mix a wanted context are made when they are looked at") {
  const Recipe recipe = attention(2, 2).then("mask").end();
  const Trace trace = evaluate_all(recipe, {"context"}).trace;
  const Tensor& weights = trace.at("softmaxed");
  CHECK_FALSE(weights.values.are_stored());
  CHECK(trace.find("masked") == nullptr);
  CHECK(weights.at(1, 0, 0) == 1);
  CHECK(weights.at(1, 0, 1) == 0);
  const Tensor kept = evaluate(recipe).at("softmaxed");
  for (const std::size_t row : {1, 577, 1199}) {
    CHECK(weights.at(1, row, row) == Approx(kept.at(1, row, row)).epsilon(1e-12));
  }
}

TEST_CASE("what is wanted, or used elsewhere, is kept as it is") {
  const Recipe recipe = attention(1, 1).then("mask").end();
  const Trace wanted = evaluate_all(recipe, {"output", "masked"}).trace;
  CHECK(wanted.find("scores") != nullptr);
  CHECK(wanted.at("masked").at(0, 0, 1) == -std::numeric_limits<double>::infinity());
  Recipe used = recipe;
  used.steps.push_back({"other", find_operation("relu"), {"scores"}, {}});
  const Trace both = evaluate_all(used, {"output", "other"}).trace;
  CHECK(both.find("scores") != nullptr);
}

TEST_CASE("faults are told as where everything is kept") {
  Recipe infinite = attention(1, 1).then("mask").end();
  infinite.givens[0].tensor.values.mutable_span()[8000] = std::numeric_limits<double>::infinity();
  const auto fault_messages = [](const Recipe& recipe, const RequestedSteps& wanted) {
    std::vector<std::string> messages;
    for (const StepFault& fault : evaluate_all(recipe, wanted).faults) {
      messages.push_back(std::to_string(fault.step) + " " + fault.message);
    }
    return messages;
  };
  CHECK(fault_messages(infinite, {}).size() == 1);
  CHECK(fault_messages(infinite, {"output"}) == fault_messages(infinite, {}));
  Recipe unfit = attention(1, 1).end();
  unfit.givens[2].tensor = waves({{"head", 1}, {"key", 7}, {"d_v", 8}}, 1);
  CHECK(fault_messages(unfit, {}).size() == 1);
  CHECK(fault_messages(unfit, {"output"}) == fault_messages(unfit, {}));
  CHECK(evaluate_all(unfit, {"output"}).trace.find("scores") == nullptr);
}

}  // namespace trace_fused_attention_tests
