
#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

#include "ops/attention/softmax.hpp"
#include "support/calls.hpp"
#include "text/strings.hpp"
#include "trace/trace.hpp"

namespace trace_evaluate_tests {

using namespace qkv;
using namespace qkv::test;
using Labels = std::vector<std::string>;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

struct Steps {
  Recipe recipe;

  Steps& given(std::string name, Tensor tensor) {
    recipe.givens.push_back({std::move(name), std::move(tensor)});
    return *this;
  }
  Steps& step(std::string name, std::string_view op, std::vector<std::string> of,
              const OptionMap& options = {}) {
    StepRecipe made{std::move(name), find_operation(op), std::move(of), {}};
    for (const auto& [key, value] : options) made.options.set(key, value);
    recipe.steps.push_back(std::move(made));
    return *this;
  }
  std::vector<std::string> faults() const {
    std::vector<std::string> messages;
    for (const StepFault& fault : evaluate_all(recipe).faults) {
      messages.push_back(std::to_string(fault.step) + " " + fault.message);
    }
    return messages;
  }
};

std::string axes_of(const Tensor& tensor) {
  std::string text;
  for (const Axis& axis : tensor.axes) text += "[" + axis.name + "]";
  return text;
}

}  // namespace

TEST_CASE("only an attention's own operations have a part in it") {
  const auto part_of = [](std::string_view name) { return attention_part(*find_operation(name)); };
  CHECK(part_of("score") == AttentionPart::scores);
  CHECK(part_of("scale") == AttentionPart::between);
  CHECK(part_of("mask") == AttentionPart::between);
  CHECK(part_of("softmax") == AttentionPart::weights);
  CHECK(part_of("weighted_sum") == AttentionPart::result);
  CHECK(part_of("matmul") == AttentionPart::none);
  CHECK(part_of("add") == AttentionPart::none);
}

TEST_CASE("steps are worked out in order, each from those before it") {
  Steps steps;
  steps.given("A", matrix({{1, 2}, {3, 4}}))
      .step("B", "transpose", {"A"})
      .step("C", "matmul", {"A", "B"});
  const Trace trace = evaluate(steps.recipe);
  CHECK(difference(rows_of(trace.at("B")), {{1, 3}, {2, 4}}) == "");
  CHECK(difference(rows_of(trace.at("C")), {{5, 11}, {11, 25}}) == "");
  CHECK(trace.step_at("B").number == 1);
  CHECK(trace.step_at("C").number == 2);
}

TEST_CASE("a step that fails is told once, and those that need it keep silent") {
  Steps steps;
  steps.given("A", matrix({{1, 2}}))
      .step("bad", "matmul", {"A", "A"})
      .step("after", "transpose", {"bad"})
      .step("good", "transpose", {"A"})
      .step("worse", "score", {"A", "good"});
  CHECK(steps.faults() ==
        std::vector<std::string>{"0 bad: inner is 2 in A (1×2) but 1 in A (1×2)",
                                 "3 worse: d_k is 2 in A (1×2) but 1 in good (2×1)"});
  const Trace trace = evaluate_all(steps.recipe).trace;
  CHECK(trace.find("bad") == nullptr);
  CHECK(trace.find("after") == nullptr);
  CHECK(trace.step_at("good").number == 3);
  CHECK_THROWS_WITH(evaluate(steps.recipe), "bad: inner is 2 in A (1×2) but 1 in A (1×2)");
}

// 300 × 300 numbers are more than a lesson shows.
Steps large_recipe() {
  Steps steps;
  steps.given("A", qkv::zeros({{"row", 300}, {"column", 300}}))
      .step("B", "transpose", {"A"})
      .step("C", "add", {"A", "B"})
      .step("D", "relu", {"A"})
      .step("E", "exp", {"D"});
  return steps;
}

TEST_CASE("of a large recipe only what is wanted is worked out, and what that needs") {
  const Trace trace = evaluate_all(large_recipe().recipe, {"C"}).trace;
  CHECK(trace.find("B") != nullptr);
  CHECK(trace.find("C") != nullptr);
  CHECK(trace.find("D") == nullptr);
  CHECK(trace.find("E") == nullptr);
  CHECK(trace.step_at("C").number == 2);
  CHECK(trace.length == 4);
}

TEST_CASE("what was needed on the way alone is let go of when it has been used") {
  Steps steps = large_recipe();
  steps.step("F", "exp", {"E"});
  const Trace trace = evaluate_all(steps.recipe, {"F"}).trace;
  CHECK(trace.find("D") == nullptr);  // E was made of it
  CHECK(trace.find("E") != nullptr);  // F's own arithmetic
  CHECK(trace.find("F") != nullptr);
}

// Scores of 2 heads, larger than a lesson shows: the j-th of row i is i - j + head.
Tensor large_scores() {
  Tensor scores = qkv::zeros({{"head", 2}, {"query", 200}, {"key", 200}});
  for (std::size_t i = 0; i < scores.values.size(); ++i) {
    scores.values.mutable_span()[i] = static_cast<double>(i / 200 % 200) -
                                      static_cast<double>(i % 200) + static_cast<double>(i / 40000);
  }
  return scores;
}

TEST_CASE("large scaled and masked scores are not held: a cell is made when somebody looks") {
  Steps steps;
  steps.given("S", large_scores())
      .step("scaled", "scale", {"S"}, {{"by", 4.0}})
      .step("masked", "mask", {"scaled"}, {{"kind", "causal"}})
      .step("weights", "softmax", {"masked"});
  const Trace trace = evaluate(steps.recipe);
  CHECK_FALSE(trace.at("scaled").values.are_stored());
  CHECK_FALSE(trace.at("masked").values.are_stored());
  CHECK(trace.at("weights").values.are_stored());
  CHECK(trace.at("scaled").at(1, 199, 0) == 50);  // (199 - 0 + 1) / 4
  CHECK(trace.at("masked").at(1, 199, 0) == 50);
  CHECK(trace.at("masked").at(1, 3, 4) == -inf);
  CHECK(trace.at("weights").at(0, 0, 0) == 1);
  trace.drop_cache();
  CHECK(trace.at("masked").at(0, 10, 2) == 2);
}

TEST_CASE("what lies on the way to a large softmax is not held either") {
  Steps steps;
  steps.given("S", large_scores())
      .step("shifted", "shift", {"S"})
      .step("columns", "shift", {"S"}, {{"axis", "columns"}})
      .step("raised", "exp", {"shifted"})
      .step("weights", "softmax", {"S"});
  const Trace trace = evaluate(steps.recipe);
  CHECK_FALSE(trace.at("shifted").values.are_stored());
  CHECK_FALSE(trace.at("raised").values.are_stored());
  CHECK(trace.at("shifted").at(1, 7, 5) == -5);    // each row is largest at key 0
  CHECK(trace.at("columns").at(1, 7, 5) == -192);  // each column at query 199
  CHECK(trace.at("raised").at(1, 7, 5) == std::exp(-5.0));
  const Step& weights = *trace.find_step("weights");
  const std::vector<Intermediate> intermediates =
      weights.operation->intermediates(trace.call(weights));
  REQUIRE(intermediates.size() == 2);
  for (const Intermediate& part : intermediates) CHECK_FALSE(part.tensor.values.are_stored());
  CHECK(intermediates[1].tensor.at(1, 7, 5) == std::exp(-5.0));
}

TEST_CASE("what a cheap step is made of is there for as long as the step is") {
  Steps steps;
  steps.given("S", large_scores())
      .step("scaled", "scale", {"S"}, {{"by", 4.0}})
      .step("masked", "mask", {"scaled"}, {{"kind", "causal"}});
  Trace trace = evaluate_all(steps.recipe, {"masked"}).trace;
  trace.steps.erase(trace.steps.begin());
  trace.givens.clear();
  CHECK_FALSE(trace.at("masked").values.are_stored());
  CHECK(trace.at("masked").at(1, 199, 0) == 50);
}

TEST_CASE("a large mask that is given, or hides padding, is made again as well") {
  Tensor keep = qkv::zeros({{"query", 200}, {"key", 200}});
  for (std::size_t i = 0; i < 200; ++i) keep.values.mutable_span()[i * 200 + 7] = 1;
  Tensor ids = qkv::zeros({{"token", 200}});
  ids.values.mutable_span()[199] = 3;
  Steps steps;
  steps.given("S", large_scores())
      .given("keep", std::move(keep))
      .given("ids", std::move(ids))
      .step("given", "mask", {"S", "keep"})
      .step("padded", "mask", {"S", "ids"}, {{"kind", "padding"}, {"pad", 3.0}});
  const Trace trace = evaluate(steps.recipe);
  CHECK_FALSE(trace.at("given").values.are_stored());
  CHECK_FALSE(trace.at("padded").values.are_stored());
  CHECK(trace.at("given").at(1, 10, 7) == 4);  // 10 - 7 + 1
  CHECK(trace.at("given").at(1, 10, 8) == -inf);
  CHECK(trace.at("padded").at(0, 10, 198) == -188);
  CHECK(trace.at("padded").at(0, 10, 199) == -inf);
}

TEST_CASE("one matrix of scores under a mask for each head is held: it is less than the result") {
  Tensor keep = qkv::zeros({{"head", 2}, {"query", 300}, {"key", 300}});
  keep.values.mutable_span()[300 * 300] = 1;
  Steps steps;
  steps.given("S", qkv::zeros({{"query", 300}, {"key", 300}}))
      .given("keep", std::move(keep))
      .step("masked", "mask", {"S", "keep"});
  const Trace trace = evaluate(steps.recipe);
  CHECK(trace.at("masked").values.are_stored());
  CHECK(trace.at("masked").at(0, 0, 0) == -inf);
  CHECK(trace.at("masked").at(1, 0, 0) == 0);
}

TEST_CASE("a step can be wanted by its number, a given by its name") {
  const Trace fourth = evaluate_all(large_recipe().recipe, {"4"}).trace;
  CHECK(fourth.find("E") != nullptr);
  CHECK(fourth.find("B") == nullptr);
  CHECK(evaluate_all(large_recipe().recipe, {"A"}).trace.steps.empty());
  CHECK(evaluate_all(large_recipe().recipe).trace.steps.size() == 4);
}

TEST_CASE("a small step is worked out, whatever is wanted: words may speak of it") {
  Steps steps;
  steps.given("A", matrix({{1, 2}})).step("B", "relu", {"A"}).step("C", "exp", {"A"});
  CHECK(evaluate_all(steps.recipe, {"B"}).trace.find("C") != nullptr);
}

TEST_CASE("an operation with too few or too many operands is refused") {
  Steps steps;
  steps.given("A", matrix({{1}}))
      .step("s", "score", {"A"})
      .step("t", "transpose", {"A", "A"})
      .step("p", "project", {"A"})
      .step("k", "tokenise", {"A"});
  CHECK(steps.faults() == std::vector<std::string>{"0 s: score takes 2 operands, not 1",
                                                   "1 t: transpose takes 1 operand, not 2",
                                                   "2 p: project takes 2 to 3 operands, not 1",
                                                   "3 k: tokenise takes 0 operands, not 1"});
}

TEST_CASE("a number that is none is told with what it comes from") {
  Steps steps;
  steps.given("A", matrix({{1e308, -1e308}}))
      .given("B", matrix({{1e308}, {1e308}}))
      .given("N", matrix({{1, 2}, {3, std::nan("")}}))
      .step("C", "matmul", {"A", "B"})
      .step("D", "transpose", {"N"});
  CHECK(steps.faults() ==
        std::vector<std::string>{
            "0 C: row 1, column 1 is not a number: its terms grew beyond 1.8e308, the largest "
            "number; make its operands smaller",
            "1 D: row 2, column 2 is not a number: row 2, column 2 of N is nan; look where "
            "it comes from"});
}

TEST_CASE("infinities that meet are told with the cell in which they do") {
  Steps steps;
  steps.given("A", matrix({{0, 1}}))
      .given("B", matrix({{inf, 1}, {1, 1}}))
      .step("C", "matmul", {"A", "B"})
      .step("D", "add", {"B", "minus"})
      .given("minus", matrix({{1, 1}, {-inf, -inf}}));
  CHECK(steps.faults() == std::vector<std::string>{
                              "0 C: row 1, column 1 is not a number: infinities met (inf − inf or "
                              "0 · inf); row 1, column 1 of B is infinite"});
}

TEST_CASE("token labels flow from the ids to the output") {
  Steps steps;
  steps.recipe.environment = text_environment("the fat cat");
  steps.given("table", labelled(matrix({{1, 0}, {0, 1}, {1, 1}}), {}, {"thing", "describes"}))
      .given("W_Q", matrix({{1, 2, 3}, {4, 5, 6}}))
      .step("token_ids", "tokenise", {})
      .step("X", "embed", {"token_ids", "table"})
      .step("Q", "project", {"X", "W_Q"})
      .step("scores", "score", {"Q", "Q"})
      .step("A", "softmax", {"scores"})
      .step("context", "weighted_sum", {"A", "X"});
  const Trace trace = evaluate(steps.recipe);
  const Labels tokens = {"the", "fat", "cat"};
  const MatrixLabels scores = own_labels(trace.at("scores"), 0, TokenLayout::rows);
  CHECK(scores.rows == tokens);
  CHECK(scores.columns == tokens);
  CHECK(own_labels(trace.at("Q"), 0, TokenLayout::rows).columns == Labels{});
  CHECK(full_labels(trace.at("Q"), 0, TokenLayout::rows).columns == Labels{"1", "2", "3"});
  CHECK(own_labels(trace.at("context"), 0, TokenLayout::rows).columns ==
        Labels{"thing", "describes"});
  CHECK(own_labels(trace.at("Q"), 0, TokenLayout::columns).columns == tokens);
}

TEST_CASE("given tokens label whatever has a row for each of them") {
  Steps steps;
  steps.recipe.tokens = {"life", "is", "short"};
  steps.given("X", matrix({{1, 2}, {3, 4}, {5, 6}}))
      .given("W_Q", matrix({{1, 0, 0}, {0, 1, 0}}))
      .given("square", matrix({{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}))
      .step("Q", "project", {"X", "W_Q"})
      .step("R", "project", {"Q", "square"});
  const Trace trace = evaluate(steps.recipe);
  CHECK(trace.at("X").axes[0].labels == steps.recipe.tokens);
  CHECK(trace.at("Q").axes[0].labels == steps.recipe.tokens);
  CHECK(trace.at("R").axes[0].labels == steps.recipe.tokens);
  CHECK(trace.at("W_Q").axes[0].labels == Labels{});
}

TEST_CASE("what is used as a weight has no tokens, though it has as many rows") {
  const Tensor square = matrix({{1, 2, 0}, {0, 1, 1}, {2, 0, 1}});
  Steps steps;
  steps.recipe.tokens = {"life", "is", "short"};
  for (const char* name : {"X", "Wq", "mix", "W1", "A", "values", "W"}) steps.given(name, square);
  steps.step("Q", "project", {"X", "Wq"})
      .step("H", "matmul", {"Q", "mix"})
      .step("G", "matmul", {"W1", "H"})
      .step("shares", "softmax", {"A"})
      .step("context", "matmul", {"shares", "values"});
  steps.recipe.givens[4].tensor.axes.back().name = "key";
  const Trace trace = evaluate(steps.recipe);
  for (const char* name : {"X", "Q", "H", "A", "values", "context"}) {
    CHECK(trace.at(name).axes[0].labels == steps.recipe.tokens);
  }
  for (const char* name : {"Wq", "mix", "W1", "W"})
    CHECK(trace.at(name).axes[0].labels == Labels{});
}

TEST_CASE("the field's own names name their axes") {
  Steps steps;
  steps.given("X", matrix({{1, 2}}))
      .given("W_Q", matrix({{1}, {2}}))
      .given("W_O", matrix({{1, 2}}))
      .step("Q", "project", {"X", "W_Q"})
      .step("scores", "score", {"Q", "Q"})
      .step("output", "project", {"Q", "W_O"});
  const Trace trace = evaluate(steps.recipe);
  CHECK(axes_of(trace.at("X")) == "[token][d_model]");
  CHECK(axes_of(trace.at("W_O")) == "[h·d_v][d_model]");
  CHECK(axes_of(trace.at("Q")) == "[token][d_k]");
  CHECK(axes_of(trace.at("scores")) == "[query][key]");
}

TEST_CASE("data with a leading axis is a batch where it meets plain weights") {
  Steps steps;
  steps.given("inputs", stack({{{1, 2}}, {{3, 4}}}, ""))
      .given("W", matrix({{1}, {2}}))
      .step("Q", "project", {"inputs", "W"});
  const Trace trace = evaluate(steps.recipe);
  CHECK(axes_of(trace.at("inputs")) == "[batch][][]");
  CHECK(matrix_name(trace.at("Q"), 1) == "batch 2");
}

TEST_CASE("queries, keys and values have heads, also where their norm has one gain for all") {
  Steps steps;
  steps.given("K_new", stack({{{1, 2}}, {{3, 4}}}, ""))
      .given("gain", matrix({{1, 1}}))
      .step("normed", "rms_norm", {"K_new", "gain"});
  const Trace trace = evaluate(steps.recipe);
  CHECK(matrix_name(trace.at("normed"), 1) == "head 2");
}

TEST_CASE("data with a leading axis is a batch where it is cut into heads") {
  Steps steps;
  steps.given("inputs", stack({{{1, 2}}, {{3, 4}}}, ""))
      .step("heads", "split_heads", {"inputs"}, {{"heads", 2.0}});
  const Trace trace = evaluate(steps.recipe);
  CHECK(axes_of(trace.at("heads")).starts_with("[batch][head]"));
  CHECK(matrix_name(trace.at("heads"), 2) == "batch 2, head 1");
}

TEST_CASE(
    "scores have heads, and so has what a later step takes as heads, after steps row by row") {
  Steps steps;
  steps.given("S", stack({{{0, 0}, {0, 0}}, {{0, 0}, {0, 0}}}, ""))
      .given("M", matrix({{1, 0}, {1, 1}}))
      .given("T", stack({{{0, 0}, {0, 0}}, {{0, 0}, {0, 0}}}, ""))
      .given("row", matrix({{1, 1}}))
      .step("masked", "mask", {"S", "M"}, {{"kind", "given"}})
      .step("raised", "add", {"T", "row"})
      .step("lowered", "alibi", {"raised"});
  const Trace trace = evaluate(steps.recipe);
  CHECK(matrix_name(trace.at("masked"), 1) == "head 2");
  CHECK(trace.at("lowered").values[2] == 1 - std::ldexp(1, -4));  // of two heads: 2^-4 and 2^-8
  CHECK(trace.at("lowered").values[6] == 1 - std::ldexp(1, -8));
}

TEST_CASE("of two leading axes the first is the batch, also where they meet plain numbers") {
  Steps steps;
  Tensor four = zeros({{"", 2}, {"", 2}, {"", 1}, {"", 2}});
  steps.given("A", four).given("row", matrix({{1, 1}})).step("B", "add", {"A", "row"});
  CHECK(matrix_name(evaluate(steps.recipe).at("B"), 2) == "batch 2, head 1");
}

TEST_CASE("weights with a leading axis have heads") {
  Steps steps;
  steps.given("X", matrix({{1, 2}}))
      .given("W", stack({{{1}, {2}}, {{3}, {4}}}, ""))
      .step("Q", "project", {"X", "W"});
  const Trace trace = evaluate(steps.recipe);
  CHECK(matrix_name(trace.at("Q"), 1) == "head 2");
  CHECK(trace.at("Q").values == std::vector<double>{5, 11});
}

TEST_CASE("a batch of heads names both") {
  Steps steps;
  steps.given("inputs", stack({{{1, 2}}, {{3, 4}}}, ""))
      .given("W", matrix({{1, 0}, {0, 1}}))
      .step("Q", "project", {"inputs", "W"})
      .step("heads", "split_heads", {"Q"}, {{"heads", 2.0}});
  const Trace trace = evaluate(steps.recipe);
  CHECK(axes_of(trace.at("heads")).starts_with("[batch][head]"));
  CHECK(matrix_name(trace.at("heads"), 3) == "batch 2, head 2");
  CHECK(matrix_name(trace.at("W"), 0) == "");
}

TEST_CASE("the letters of the shape rules stand for this lesson's sizes") {
  Steps steps;
  steps.given("X", matrix({{1, 2, 3}, {4, 5, 6}}))
      .given("W_Q", stack({{{1}, {0}, {0}}, {{0}, {1}, {0}}}, ""))
      .given("keys", matrix({{1}, {2}, {3}, {4}}))
      .given("V", matrix({{1, 1}, {2, 2}, {3, 3}, {4, 4}}))
      .step("Q", "project", {"X", "W_Q"})
      .step("scores", "score", {"Q", "keys"})
      .step("context", "weighted_sum", {"scores", "V"});
  const Trace trace = evaluate(steps.recipe);
  CHECK(symbol(trace, "n") == 2u);
  CHECK(symbol(trace, "m") == 4u);
  CHECK(symbol(trace, "h") == 2u);
  CHECK(symbol(trace, "d_model") == 3u);
  CHECK(symbol(trace, "d_k") == 1u);
  CHECK(symbol(trace, "d_v") == 2u);
  CHECK_FALSE(symbol(trace, "d_ff"));
  CHECK_FALSE(symbol(trace, "q"));
  CHECK_FALSE(symbol(trace, "scores"));
}

TEST_CASE("without scores n counts the tokens") {
  Steps steps;
  steps.given("X", matrix({{1}, {2}, {3}})).step("Y", "relu", {"X"});
  CHECK(symbol(evaluate(steps.recipe), "n") == 3u);
  CHECK_FALSE(symbol(evaluate(steps.recipe), "h"));
}

TEST_CASE("with tokens as columns everything but vectors and a batch's ids is shown turned over") {
  const Tensor x = named(matrix({{1, 2, 3}}), {"token", "d_model"});
  CHECK(shown_shape(x, TokenLayout::rows) == "1×3");
  CHECK(shown_shape(x, TokenLayout::columns) == "3×1");
  CHECK(difference(rows_of(as_shown(x, TokenLayout::columns)), {{1}, {2}, {3}}) == "");
  CHECK(shown_shape(vector({1, 2}), TokenLayout::columns) == "2");
  CHECK(shown_shape(named(matrix({{1, 2, 3}}), {"batch", "token"}), TokenLayout::columns) == "1×3");
}

TEST_CASE("an operation's words are about the rows and columns that are shown") {
  const auto words = [](std::string_view operation, Options options, TokenLayout layout) {
    const StepRecipe step{"Y", find_operation(operation), {}, std::move(options)};
    return words_for(step, "Each row grows; columns of the rows. Row 1 of rowsum", layout);
  };
  const std::string kept = "Each row grows; columns of the rows. Row 1 of rowsum";
  const std::string turned = "Each column grows; rows of the columns. Column 1 of rowsum";
  const auto axis = [](std::string value) { return Options::of("axis", std::move(value)); };
  CHECK(words("softmax", {}, TokenLayout::rows) == kept);
  CHECK(words("softmax", {}, TokenLayout::columns) == turned);
  CHECK(words("softmax", axis("columns"), TokenLayout::rows) == turned);
  CHECK(words("softmax", axis("columns"), TokenLayout::columns) == kept);
  CHECK(words("split_heads", axis("columns"), TokenLayout::rows) == kept);
  CHECK(words("split_heads", axis("rows"), TokenLayout::rows) == turned);
  CHECK(words("matmul", {}, TokenLayout::columns) == kept);  // of the product as it is shown
}

TEST_CASE("what the lesson has no word for is called by its number, whatever its axis counts") {
  const Tensor plain = matrix({{1, 2}});
  CHECK(full_labels(plain, 0, TokenLayout::rows).rows == Labels{"1"});
  CHECK(full_labels(plain, 0, TokenLayout::rows).columns == Labels{"1", "2"});
  CHECK(full_labels(plain, 0, TokenLayout::columns).rows == Labels{"1", "2"});
  const Tensor scores = named(plain, {"query", "key"});
  CHECK(full_labels(scores, 0, TokenLayout::rows).rows == Labels{"1"});
  CHECK(full_labels(scores, 0, TokenLayout::rows).columns == Labels{"1", "2"});
  // A sentence of a batch, which has words of its own over its ids, is told as such.
  Tensor ids = named(matrix({{0, 1}, {2, 0}}), {"batch", "token"});
  ids.axes[1].labels = {"the", "cat", "a", "the"};
  CHECK(full_labels(ids, 0, TokenLayout::rows).rows == Labels{"batch 1", "batch 2"});
  CHECK(full_labels(ids, 0, TokenLayout::rows).columns == Labels{"1", "2"});
}

TEST_CASE("the numbers of a trace are those of its tensors, each counted once") {
  const Trace trace = evaluate(Steps()
                                   .given("A", matrix({{1, 2}, {3, 4}}))
                                   .step("B", "matmul", {"A", "A"})
                                   .step("C", "add", {"A", "B"})
                                   .recipe);
  CHECK(numbers_of(trace) == 12);
  CHECK(numbers_of(trace, {0}) == 8);   // A and B
  CHECK(numbers_of(trace, {1}) == 12);  // A, B and C
}

TEST_CASE("a trace of chosen steps has the other steps as givens") {
  const Trace trace = evaluate(Steps()
                                   .given("A", matrix({{1, 2}, {3, 4}}))
                                   .step("B", "matmul", {"A", "A"})
                                   .step("C", "add", {"A", "B"})
                                   .recipe);
  const Trace last = only_steps(trace, {1});
  REQUIRE(last.steps.size() == 1);
  CHECK(last.steps[0].name == "C");
  REQUIRE(last.givens.size() == 2);
  CHECK(last.givens[1].name == "B");
  CHECK(last.givens[1].tensor.values == std::vector<double>{7, 10, 15, 22});
}

TEST_CASE("a large result that is worked out when it is read has the numbers of its operand") {
  Tensor large = zeros({{"", 257}, {"", 256}});  // 65,792 numbers
  for (std::size_t i = 0; i < 65792; ++i) {
    large.values.mutable_span()[i] = static_cast<double>(i);
  }
  const Trace trace =
      evaluate(Steps().given("A", large).step("B", "scale", {"A"}, {{"by", 2.0}}).recipe);
  const std::vector<double> halves(trace.at("B").values.begin(), trace.at("B").values.end());
  REQUIRE(halves.size() == 65792);
  CHECK(halves[1] == 0.5);
  CHECK(halves[65791] == 32895.5);
}

}  // namespace trace_evaluate_tests
