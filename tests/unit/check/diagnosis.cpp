#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "check/submissions.hpp"
#include "formats/arrays/dtype.hpp"

namespace check_diagnosis_tests {

/// What diagnosis finds, what it is sure of, and how it says so. The numbers are by hand.

namespace {

using namespace qkv;
using namespace qkv::test;

std::string lesson_of(const std::string& givens_and_steps) {
  return "title = \"t\"\nsummary = \"s\"\nsource = \"drawn\"\n" + givens_and_steps;
}

std::string given(const std::string& name, const std::string& value) {
  return "[[given]]\nname = \"" + name + "\"\nvalue = " + value + "\n";
}

std::string step(const std::string& name, const std::string& op, const std::string& of,
                 const std::string& more = "") {
  return "[[step]]\nname = \"" + name + "\"\nop = \"" + op + "\"\nof = " + of + "\n" + more + "\n";
}

const std::vector<Diagnosis>& found_at(const CheckReport& report, std::string_view name) {
  const auto at = std::ranges::find(report.steps, name, &StepReport::step);
  REQUIRE(at != report.steps.end());
  return at->mistakes;
}

std::string first_words(const CheckReport& report, std::string_view name) {
  const std::vector<Diagnosis>& found = found_at(report, name);
  return found.empty() ? "" : found.front().says;
}

const Task& one_score() {
  static const Task task(lesson_of(given("Q_of_all", "[[1, 2], [3, 1]]") +
                                   given("K", "[[2, 0], [1, 1]]") +
                                   step("S", "score", "[\"Q_of_all\", \"K\"]")));
  return task;
}

TEST_CASE("queries times queries and keys times keys are named, by their own names") {
  const auto queries = checked(one_score(), {{"S", "5,5\n5,10\n"}});
  CHECK(mistakes(queries, "S") == "score.same-operand");
  CHECK(first_words(queries, "S") ==
        "The queries were multiplied with themselves: Q_of_all·Q_of_allᵀ.");
  const auto keys = checked(one_score(), {{"S", "4,2\n2,2\n"}});
  CHECK(mistakes(keys, "S") == "score.same-operand");
  CHECK(first_words(keys, "S") == "The keys were multiplied with themselves: K·Kᵀ.");
}

TEST_CASE("zeros are no queries that were scaled before the product") {
  const Task task(lesson_of(given("Q", "[[1, 0, 0, 0], [0, 10, 0, 0], [0, 0, 10, 0]]") +
                            given("K", "[[1, 0, 0, 1], [-1, 1, 0, 0], [0, -1, 1, 0]]") +
                            step("scores", "score", "[\"Q\", \"K\"]") +
                            step("scaled_scores", "scale", "[\"scores\"]")));
  const std::string zeros = "0,0,0\n-,-,-\n-,-,-\n";
  CHECK(checked(task, {{"scores", zeros}, {"scaled_scores", zeros}}).first_wrong == "scores");
}

TEST_CASE("whole numbers that are those before the scale, digit for digit, may be those") {
  const Task task(lesson_of(given("scores", "[[1, -1, 1], [0, 1, -1], [1, 0, 1]]") +
                            step("scaled", "scale", "[\"scores\"]", "by = 2\n")));
  const auto report = checked(task, {{"scaled", "1,-1,1\n0,1,-1\n1,0,1\n"}});
  CHECK(mistakes(report, "scaled") == "slip.too-few-decimals scale.skipped");
  for (const Diagnosis& one : found_at(report, "scaled")) CHECK_FALSE(one.sure);
}

TEST_CASE("divided by 2 where d_k and the tokens are 4, it was not the root of the tokens") {
  const Task task(lesson_of(given("Q", "[[1, 0, 2, 1], [0, 1, 3, 0], [2, 1, 0, 1], [1, 1, 2, 0]]") +
                            given("K", "[[2, 1, 0, 1], [1, 3, 1, 0], [0, 1, 2, 1], [1, 0, 0, 3]]") +
                            step("S", "score", "[\"Q\", \"K\"]") +
                            step("scaled", "scale", "[\"S\"]", "by = \"d_k\"\n")));
  const auto report =
      checked(task, {{"scaled", "1.5,1.5,2.5,2\n0.5,3,3.5,0\n3,2.5,1,2.5\n1.5,3,2.5,0.5\n"}});
  CHECK(mistakes(report, "scaled").find("scale.by-sqrt-n") == std::string::npos);
}

TEST_CASE("what explains half of the wrong cells, as others do, is not sure") {
  const Task task(
      lesson_of(given("S", "[[3,1,4,2,5], [2,6,5,3,8], [9,7,1,3,2], [3,8,4,6,2], [6,4,3,9,1]]") +
                step("M", "mask", "[\"S\"]", "kind = \"causal\"\n")));
  const auto report = checked(task, {{"M",
                                      "3,1,4,2,5\n2,-inf,-inf,-inf,-inf\n9,7,-inf,-inf,-inf\n"
                                      "3,8,4,-inf,-inf\n6,4,3,9,-inf\n"}});
  CHECK(mistakes(report, "M").starts_with("mask.skipped mask.wrong-triangle"));
  for (const Diagnosis& one : found_at(report, "M")) CHECK_FALSE(one.sure);
}

Task activation(const std::string& op, const std::string& more = "") {
  return Task(lesson_of(given("H", "[[1, -1], [2, 0.5]]") + step("A", op, "[\"H\"]", more)));
}

TEST_CASE("another activation is named") {
  const Task gelu = activation("gelu");
  CHECK(mistakes(checked(gelu, {{"A", "1.000,0.000\n2.000,0.500\n"}}), "A") == "activation.other");
  CHECK(mistakes(checked(gelu, {{"A", "0.731,-0.269\n1.762,0.311\n"}}), "A") == "activation.other");
  CHECK(mistakes(checked(gelu, {{"A", "0.846,-0.154\n1.936,0.350\n"}}), "A") == "activation.other");
  // By the error function: 0.841345, -0.158655, 1.954500, 0.345731; by tanh 0.841192, …
  CHECK(mistakes(checked(gelu, {{"A", "0.841345,-0.158655\n1.954500,0.345731\n"}}), "A") ==
        "activation.other");
  CHECK(mistakes(checked(activation("gelu", "form = \"erf\""),
                         {{"A", "0.841192,-0.158808\n1.954598,0.345714\n"}}),
                 "A") == "activation.other");
  CHECK(mistakes(checked(activation("relu"), {{"A", "0.731,-0.269\n1.762,0.311\n"}}), "A") ==
        "activation.other");
  CHECK(mistakes(checked(activation("silu"), {{"A", "0.846,-0.154\n1.936,0.350\n"}}), "A") ==
        "activation.other");
}

TEST_CASE("a residual of another step is named, and what was left out by its name") {
  const Task task(lesson_of(given("A", "[[1, 2], [3, 4]]") + given("B", "[[10, 20], [30, 40]]") +
                            given("C", "[[5, 1], [2, 7]]") + step("Y", "add", "[\"A\", \"B\"]")));
  CHECK(mistakes(checked(task, {{"Y", "15,21\n32,47\n"}}), "Y") == "add.wrong-operand");
  const auto skipped = checked(task, {{"Y", "10,20\n30,40\n"}});
  CHECK(mistakes(skipped, "Y") == "add.skipped");
  CHECK(first_words(skipped, "Y") == "A was not added.");
}

TEST_CASE("layer norm without the mean is named, whatever it is divided by") {
  const Task task(lesson_of(given("X", "[[1, 3], [2, 6]]") + given("gain", "[[1, 1]]") +
                            given("bias", "[[0, 0]]") +
                            step("N", "layer_norm", "[\"X\", \"gain\", \"bias\"]")));
  CHECK(mistakes(checked(task, {{"N", "1.000,3.000\n1.000,3.000\n"}}), "N") ==
        "layer-norm.no-mean");
  CHECK(mistakes(checked(task, {{"N", "0.447,1.342\n0.447,1.342\n"}}), "N") ==
        "layer-norm.no-mean");
}

TEST_CASE("targets that were counted from 1 are named, in the loss and in its gradient") {
  const Task task(lesson_of(given("logits", "[[0, 1, 2], [2, 0, 0]]") + given("ids", "[1, 1]") +
                            step("L", "cross_entropy", "[\"logits\", \"ids\"]")));
  // ln(1 + e + e²) is 2.4076, ln(e² + 2) is 2.2395: the right loss is (1.4076 + 2.2395) / 2.
  const auto early = checked(task, {{"L", "1.3236\n"}});  // (2.4076 + 0.2395) / 2
  CHECK(mistakes(early, "L").find("loss.targets-from-one") != std::string::npos);
}

TEST_CASE("heads that were added up are named, also where the sum stands in each head's place") {
  const Task task(lesson_of(given("C", "[[[1, 2], [0, 1]], [[3, 5], [2, 2]]]") +
                            step("J", "concat_heads", "[\"C\"]")));
  CHECK(mistakes(checked(task, {{"J", "4,7\n2,3\n"}}), "J") == "heads.summed");
  CHECK(mistakes(checked(task, {{"J", "4,7,4,7\n2,3,2,3\n"}}), "J") == "heads.summed");
}

TEST_CASE("what was not divided by 0.5 is not called the scores") {
  const Task task(
      lesson_of(given("E", "[[1, 2], [3, 5]]") + step("X", "scale", "[\"E\"]", "by = 0.5")));
  const auto report = checked(task, {{"X", "1,2\n3,5\n"}});
  CHECK(mistakes(report, "X") == "scale.skipped");
  CHECK(first_words(report, "X") == "E was not scaled: this step is E / 0.5.");
}

const Task& one_softmax() {
  static const Task task(lesson_of(given("S", "[[0, 1], [2, 0]]") + given("V", "[[1, 3], [2, 0]]") +
                                   step("W", "softmax", "[\"S\"]") +
                                   step("C", "weighted_sum", "[\"W\", \"V\"]")));
  return task;
}

TEST_CASE("zeros that rounding leaves may have another cause than a block that was never written") {
  const Task task(lesson_of(given("S", "[[0, 1, 2], [1, 0, 1], [20, 19, 20.5]]") +
                            step("A", "softmax", "[\"S\"]")));
  // Softmax over the whole matrix: e^-0.5, e^-1.5 and 1, divided by 1.8297; the others below 1e-8.
  const auto report = checked(task, {{"A", "0.00,0.00,0.00\n0.00,0.00,0.00\n0.33,0.12,0.55\n"}});
  CHECK(std::ranges::none_of(found_at(report, "A"), &Diagnosis::sure));
}

TEST_CASE("a sum that is wrong by some number is no slip for certain, and powers have no sign") {
  const Task task(
      lesson_of(given("S", "[[0, 1.4142, -1.4142]]") + step("W", "softmax", "[\"S\"]")));
  // The powers of e are 0.2431, 1 and 0.0591: their sum is 1.3023, and 1.1841 with the last
  // negated.
  const auto report = checked(task, {{"W", "0.21,0.85,0.05\n"}});
  CHECK(mistakes(report, "W").find("slip.sign") == std::string::npos);
  CHECK(std::ranges::none_of(found_at(report, "W"), &Diagnosis::sure));
}

TEST_CASE("a mistake that is rounded to the exact numbers explains no others") {
  const Task task(lesson_of(given("S", "[[13.56, 31.48, -0.67], [36, 35, 6], [16, 12, 2]]") +
                            step("M", "mask", "[\"S\"]", "kind = \"causal\"") +
                            step("A", "softmax", "[\"M\"]")));
  // With 0 for -inf the first row is 0.9999974, 0.0000013, 0.0000013.
  const auto report = checked(task, {{"M", "13.56,-inf,-inf\n36,35,-inf\n16,12,2\n"},
                                     {"A", "0.99,0.01,0.00\n0.73,0.27,0.00\n0.98,0.02,0.00\n"}});
  CHECK(mistakes(report, "A").find("mask.zero") == std::string::npos);
}

TEST_CASE("a mask before heads are added up stands for no mask of their sum") {
  const Task task(lesson_of(given("S", "[[[3], [1]], [[1], [2]]]") +
                            step("M", "mask", "[\"S\"]", "kind = \"causal\"") +
                            step("H", "sum_heads", "[\"M\"]") + step("N", "softmax", "[\"H\"]")));
  CHECK(mistakes(checked(task, {{"N", "0.5\n0.5\n"}}), "N").empty());
}

TEST_CASE("heads of a given are known through steps that work cell by cell") {
  const Task task(lesson_of(given("C", "[[[1, 2], [3, 4]], [[5, 6], [7, 8]]]") +
                            given("g", "[1, 2]") + step("scaled", "multiply", "[\"C\", \"g\"]") +
                            step("shifted", "exp", "[\"scaled\"]") +
                            step("joined", "concat_heads", "[\"shifted\"]")));
  CHECK(task.trace.at("joined").columns() == 4);
}

TEST_CASE("what multiplies by a root may have it rounded") {
  const Task task(lesson_of(given("E", "[[13.7, -22.1], [31.3, 39.2]]") +
                            step("X", "scale", "[\"E\"]", "by = \"1/sqrt(6)\"")));
  // 13.7 · 2.45 = 33.565, where 13.7 · √6 = 33.558.
  CHECK(verdicts(checked(task, {{"X", "33.57,-54.15\n76.69,96.04\n"}}), "X") == "rr rr");
  CHECK(first_words(checked(task, {{"X", "13.7,-22.1\n31.3,39.2\n"}}), "X") ==
        "E was not scaled: this step is E · √6.");
}

TEST_CASE("a term of softmax's sum is no product of its scores") {
  const Task task(lesson_of(given("S", "[[0, 1, 2]]") + step("W", "softmax", "[\"S\"]")));
  // Without e^(0 - 2) the sum is 1.3679.
  const auto report = checked(task, {{"W", "0.0989,0.2689,0.7311\n"}});
  CHECK(mistakes(report, "W") == "slip.dropped-term");
  CHECK(first_words(report, "W") == "One term of the sum was left out.");
}

TEST_CASE("a mistake in the same row of every head is one") {
  const Task task(lesson_of(given("A",
                                  "[[[2, 4], [6, 8]], [[3, 5], [7, 9]], [[1, 4], [5, 2]], "
                                  "[[8, 3], [4, 6]]]") +
                            step("B", "scale", "[\"A\"]", "by = 2")));
  Submission work = submission_of({}, task.trace);
  work.files.push_back({.file = "B",
                        .name = "B",
                        .written = array_of_values(
                            {4, 2, 2}, {1, 2, 6, 8, 1.5, 2.5, 7, 9, 0.5, 2, 5, 2, 4, 1.5, 4, 6},
                            Precision::float64)});
  const CheckReport report = check_submission(task.lesson, task.trace, work, {});
  CHECK(mistakes(report, "B") == "scale.skipped");
  CHECK(found_at(report, "B").front().cells == 8);
}

TEST_CASE("mistakes that exclude each other are no facts") {
  const Task task(lesson_of(given("X", "[[2, 2, -2, 2], [1, 2, 4, -2], [4, 0, 3, 0]]") +
                            given("g", "[[1, 0.5, 1, 2]]") +
                            step("N", "rms_norm", "[\"X\", \"g\"]")));
  // The sizes are 2, 2.5 and 2.5; the gain that was used is [2, 1, 0.5, 1].
  const auto report = checked(task, {{"N", "2,1,-0.5,1\n0.8,0.8,0.8,-0.8\n3.2,0,0.6,0\n"}});
  CHECK(std::ranges::none_of(found_at(report, "N"), &Diagnosis::sure));
}

TEST_CASE("rounding to whole numbers is told before any mistake") {
  // The weights are 0.269, 0.731, 0.881, 0.119.
  const auto report = checked(one_softmax(), {{"W", "0,1\n1,0\n"}});
  CHECK(report.first_wrong == "W");
  CHECK(mistakes(report, "W") == "slip.too-few-decimals");
  const auto other = checked(one_softmax(), {{"W", "1,0\n0,1\n"}});
  CHECK(mistakes(other, "W").find("slip.too-few-decimals") == std::string::npos);
}

TEST_CASE("rounding to whole numbers is told once, and surely") {
  const Task task(lesson_of(given("X", "[[1.12, 2.37], [3.41, 4.28], [5.17, 1.39]]") +
                            given("W", "[[1, 0.5], [0.5, 1]]") +
                            step("Q", "project", "[\"X\", \"W\"]") +
                            step("S", "score", "[\"Q\", \"X\"]")));
  const CheckReport report = checked(
      task,
      {{"Q", "2,3\n6,6\n6,4\n"},  // 2.305,2.93 5.55,5.985 5.865,3.975
       {"S",
        "9.52570,20.40045,15.98955\n20.40045,44.54130,37.01265\n15.98955,37.01265,35.84730\n"}});
  REQUIRE(found_at(report, "Q").size() == 1);
  CHECK(found_at(report, "Q").front().id == "slip.too-few-decimals");
  CHECK(found_at(report, "Q").front().sure);
}

TEST_CASE("zeros beside numbers of one decimal were rounded to it") {
  const Task task(lesson_of(given("S", "[[-3], [-4]]") + step("P", "exp", "[\"S\"]") +
                            step("N", "scale", "[\"S\"]", "by = 10")));
  const auto report = checked(task, {{"P", "0\n0\n"}, {"N", "-0.3\n-0.4\n"}});
  CHECK(verdicts(report, "P") == "w w");  // 0.0498 and 0.0183: a tenth of those is the unit
  CHECK(mistakes(report, "P") == "slip.too-few-decimals");
}

TEST_CASE("zeros where all right numbers round to 0 may be rounded, and prove nothing") {
  const Task task(
      lesson_of(given("S", "[[0, 0, 0], [1, 1, 1]]") + step("W", "softmax", "[\"S\"]")));
  const auto report = checked(task, {{"W", "0,0,0\n0,0,0\n"}});
  REQUIRE_FALSE(report.steps.front().mistakes.empty());
  CHECK(report.steps.front().mistakes.front().id == "slip.too-few-decimals");
  CHECK(std::ranges::none_of(report.steps.front().mistakes, &Diagnosis::sure));
}

TEST_CASE("a percentage is one cell in a column without labels") {
  const Task task(
      lesson_of(given("S", "[[0.25], [0.5]]") + step("H", "scale", "[\"S\"]", "by = 2")));
  CHECK(verdicts(checked(task, {{"H", "12.5 %\n25 %\n"}}), "H") == "c c");
}

TEST_CASE("a wrong product over an empty axis is judged") {
  const Task task(
      lesson_of("[[given]]\nname = \"A\"\nzeros = [64, 0]\n[[given]]\nname = \"B\"\n"
                "zeros = [0, 64]\n" +
                step("C", "matmul", "[\"A\", \"B\"]")));
  std::string line = "5";
  for (int k = 1; k < 64; ++k) line += ",0";
  std::string text;
  for (int k = 0; k < 64; ++k) text += line + "\n";
  CHECK(checked(task, {{"C", text}}).first_wrong == "C");
}

TEST_CASE("one head's numbers, where all heads are due, are those of a head and no mistake") {
  const Task task(lesson_of(given("Q", "[[[1, 2], [3, 1]], [[0, 1], [1, 1]]]") +
                            given("K", "[[[2, 0], [1, 1]], [[1, 0], [0, 3]]]") +
                            given("X", "[[1, 2], [0, 1]]") + step("S", "score", "[\"Q\", \"K\"]")));
  const auto report = checked(task, {{"S", "0,3\n1,3\n"}});
  CHECK(mistakes(report, "S") == "slip.one-head");
  CHECK(first_words(report, "S") == "This is head 2 alone.");
}

TEST_CASE("an answer of one digit accuses nobody") {
  const CellReference cell{.name = "W", .matrix = 0, .row = 0, .column = 0};
  for (const char* text : {"1", "0", "0.5"}) {
    const AnswerReport report = judge_answer(one_softmax().trace, cell, parse_answer(text), 4);
    CHECK_FALSE(report.is_right());
    CHECK(std::ranges::none_of(report.mistakes, &Diagnosis::sure));
  }
}

TEST_CASE("a lone number that chance may make proves no mistake, and one with more digits does") {
  const Task task(lesson_of(given("Q", "[[1, 0], [0, 1]]") + given("K", "[[0.5, 2], [1.3, 0]]") +
                            given("V", "[[1, 3], [2, 0]]") + step("S", "score", "[\"Q\", \"K\"]") +
                            step("W", "softmax", "[\"S\"]") +
                            step("C", "weighted_sum", "[\"W\", \"V\"]")));
  // From the scores instead of the weights C[1,1] is 0.5 · 1 + 1.3 · 2 = 3.1.
  const auto named = [&](const char* text) {
    return found_at(checked(task, {{"C", text}}), "C").front();
  };
  CHECK(named("3.1,\n,\n").id == "weighted-sum.scores");
  CHECK_FALSE(named("3.1,\n,\n").sure);
  CHECK(named("3.1000,\n,\n").sure);
}

TEST_CASE("a mistake that right cells contradict comes behind one that makes them all") {
  const Task task(lesson_of(given("S", "[[1, 2, 3], [4, 5, 6], [7, 8, 9]]") +
                            step("M", "mask", "[\"S\"]", "kind = \"causal\"")));
  const auto likely = [](const CheckReport& report) {
    std::string ids;
    for (const Diagnosis& one : report.steps.front().likely_mistakes()) {
      ids += (ids.empty() ? "" : " ") + std::string(one.id);
    }
    return ids;
  };
  // 6 is seen though it should be hidden; 4 and 5 would be hidden by the other triangle.
  const auto seen = checked(task, {{"M", ",,\n4,5,6\n,,\n"}});
  CHECK(likely(seen) == "mask.skipped mask.one-ahead");
  CHECK(mistakes(seen, "M").find("mask.wrong-triangle") != std::string::npos);
  // 5 is hidden though the token sees itself; 4 would be, too, if the mask were inverted.
  const auto hidden = checked(task, {{"M", ",,\n4,-inf,-inf\n,,\n"}});
  CHECK(likely(hidden) == "mask.diagonal");
  CHECK(hidden.steps.front().mistakes.front().sure);
}

TEST_CASE("a mistake in one cell, which the right cells beside it contradict, is never sure") {
  const Task task(lesson_of(given("S", "[[1, 2, 3], [4, 5, 6], [7, 8, 9]]") +
                            step("M", "mask", "[\"S\"]", "kind = \"causal\"")));
  const auto report = checked(task, {{"M", "1,-inf,3\n4,5,-inf\n7,8,9\n"}});
  CHECK(verdicts(report, "M") == "ccw ccc ccc");
  CHECK(mistakes(report, "M").find("mask.skipped") != std::string::npos);  // but 2 and 6 are hidden
  CHECK(std::ranges::none_of(report.steps.front().mistakes, &Diagnosis::sure));
}

TEST_CASE("nor is one that explains a row by one number beside zeros") {
  // The first row of V is taken for its third; X · W_Q has these numbers, too.
  const Task task(lesson_of(given("X", "[[0, 1], [0, 2], [1, 0]]") +
                            given("W_Q", "[[2, 0], [0, 1]]") + given("W_V", "[[0, 1], [2, 0]]") +
                            step("Q", "project", R"(["X", "W_Q"])") +
                            step("V", "project", R"(["X", "W_V"])")));
  const auto report = checked(task, {{"V", "2,0\n4,0\n2,0\n"}});
  CHECK(mistakes(report, "V").find("project.wrong-weight") != std::string::npos);
  CHECK(std::ranges::none_of(report.steps.back().mistakes, &Diagnosis::sure));
}

TEST_CASE("nor is a slip in a whole missing step that explains one cell") {
  const Task task(
      lesson_of(given("S", "[[1, 0, 2], [4, 3, 1], [2, 1, 0]]") +
                given("V", "[[2, 5], [7, 1], [4, 9]]") + step("M", "scale", "[\"S\"]", "by = 2") +
                step("A", "softmax", "[\"M\"]") + step("C", "weighted_sum", "[\"A\", \"V\"]")));
  const auto whole = checked(task, {{"C", "5.605,3.411\n5.605,3.411\n3.909,4.517\n"}});
  CHECK(mistakes(whole, "C") == "slip.transposed");  // M was
  CHECK(found_at(whole, "C").front().sure);
  const auto one = checked(task, {{"C", "5.605,6.281\n3.901,4.162\n3.909,4.517\n"}});
  CHECK(verdicts(one, "C") == "wc cc cc");
  CHECK(std::ranges::none_of(found_at(one, "C"), &Diagnosis::sure));
}

TEST_CASE("several mistakes that explain the same cells are alternatives") {
  const Task task(lesson_of(given("Q",
                                  "[[1, 2, 1, 1], [3, 1, 0, 2], [1, 0, 1, 1], [2, 2, 0, 1], "
                                  "[1, 1, 0, 0], [0, 2, 1, 5], [1, 1, 3, 1], [0, 0, 1, 1], "
                                  "[1, 0, 0, 2], [2, 1, 1, 1], [0, 3, 0, 1], [1, 2, 2, 0], "
                                  "[1, 0, 1, 0], [3, 1, 0, 1], [1, 1, 1, 1], [2, 0, 0, 1]]") +
                            given("K", "[[2, 0, 1, 1], [1, 1, 0, 3]]") +
                            step("S", "score", "[\"Q\", \"K\"]") + step("Y", "scale", "[\"S\"]")));
  // S / 4 is S / d_k, and S / √16, where there are 16 queries.
  std::string divided;
  std::size_t count = 0;
  for (const double score : task.trace.at("S").values) {
    divided += fmt::format("{:.4f}", score / 4) + (++count % 2 == 0 ? "\n" : ",");
  }
  const auto report = checked(task, {{"Y", divided}});
  CHECK(mistakes(report, "Y") == "scale.by-d scale.by-sqrt-n");
}

SubmittedArray array_of(const std::string& name, const Shape& shape,
                        const std::vector<double>& numbers, std::int16_t decimals) {
  Numerals cells;
  for (const double x : numbers) cells.push_back({.value = x, .decimals = decimals});
  return {.name = name, .shape = shape, .cells = std::move(cells)};
}

TEST_CASE("what the budget leaves untried is told, and the step's own mistakes come first") {
  const Task& task = one_softmax();
  // The weights (0.5 0.5, 0.5 0.5) come from no known mistake; context 1.731 0.807, 1.119 2.642.
  std::vector<SubmittedArray> work;
  work.push_back(array_of("C", {2, 2}, {9.1, 7.3, 5.2, 8.8}, 1));
  const Judgement judgement = judge(task.trace, work, {});
  const std::size_t last = judgement.nodes.size() - 1;
  DiagnosisBudget budget(task.trace);
  CHECK(diagnose(judgement, task.trace, last, budget).untried == 0);
  DiagnosisBudget spent(task.trace);
  spent.unsubmitted = WorkBudget{0};
  CHECK(diagnose(judgement, task.trace, last, spent).untried == 1);
  spent.own = WorkBudget{0};
  CHECK(diagnose(judgement, task.trace, last, spent).untried > 0);
}

TEST_CASE("scores that were divided by d_k are named, whatever they should be divided by") {
  const Task task(
      lesson_of(given("Q", "[[1, 2, 0], [3, 1, 1]]") + given("K", "[[2, 0, 1], [1, 1, 4]]") +
                step("S", "score", "[\"Q\", \"K\"]") + step("T", "scale", "[\"S\"]", "by = 2.5")));
  // S is 2 3, 7 8, and d_k is 3.
  const auto report = checked(task, {{"T", "0.667,1.000\n2.333,2.667\n"}});
  CHECK(mistakes(report, "T") == "scale.by-d");
  CHECK(first_words(report, "T") == "S was divided by d_k: this step is S / 2.5.");
}

TEST_CASE("half a unit is rounded up where a double is just below it") {
  const Task task(lesson_of(given("X", "[[-1.549, 0.618, 2.207, 1.054, -0.37]]") +
                            given("W", "[[-0.64], [-1.01], [-0.91], [-0.09], [-0.58]]") +
                            step("Z", "matmul", "[\"X\", \"W\"]")));
  // -1.52145 is written -1.5215, and that with two digits swapped.
  CHECK(mistakes(checked(task, {{"Z", "-1.5251\n"}}), "Z") == "slip.digits-swapped");
}

TEST_CASE("a finite mask that is not accepted is no other mistake") {
  std::string work = csv_of(two_words().trace.at("masked_scores"), 3);
  work.replace(work.find("-inf"), 4, "-1e9");
  const Texts texts = {{"masked_scores", work}};
  CHECK(checked(two_words(), texts).outcome != Outcome::wrong);
  const auto strict = checked(two_words(), texts, {.strict = true});
  CHECK(strict.first_wrong == "masked_scores");
  CHECK(mistakes(strict, "masked_scores").empty());
}

TEST_CASE("weights of 0 and 1 alone leave the mistake uncertain") {
  const Task task(lesson_of(given("S", "[[0, -2], [-2.5, 1]]") + step("A", "softmax", "[\"S\"]")));
  // 0.88 0.12, 0.03 0.97; with powers of 10 the second row is 0.0003 0.9997.
  const auto report = checked(task, {{"A", "0.88,0.12\n0.00,1.00\n"}});
  CHECK(mistakes(report, "A") == "softmax.base-2");
  CHECK_FALSE(found_at(report, "A").front().sure);
}

TEST_CASE("a factor of all cells is no neighbour's number in half of them") {
  const Task task(lesson_of(given("X", "[[1.5], [3]]") + given("W", "[[1, 2]]") +
                            step("Z", "matmul", "[\"X\", \"W\"]")));
  const auto report = checked(task, {{"Z", "3.0,6.0\n6.0,12.0\n"}});  // 1.5 3, 3 6
  CHECK(mistakes(report, "Z").empty());
  REQUIRE(report.steps.front().region);
  CHECK(report.steps.front().region->factor == Approx(2));
}

TEST_CASE("a head that was lost before the submitted step is found") {
  const Task task(lesson_of(given("A", "[[[1, 0], [0.5, 0.5]], [[0.25, 0.75], [1, 0]]]") +
                            given("V", "[[[1, 2], [3, 1]], [[5, 4], [1, 8]]]") +
                            given("W_O", "[[1, 2], [0, 1], [3, 1], [1, 1]]") +
                            step("C", "weighted_sum", "[\"A\", \"V\"]") +
                            step("J", "concat_heads", "[\"C\"]") +
                            step("O", "project", "[\"J\", \"W_O\"]")));
  // C is 1 2, 2 1.5 and 2 7, 5 4; without its second head O is 1 4, 2 5.5.
  CHECK(mistakes(checked(task, {{"O", "1.000,4.000\n2.000,5.500\n"}}), "O").find("tile.zero") !=
        std::string::npos);
}

TEST_CASE("values in place of keys are named, and no sign that fits some of the cells") {
  // Q·Kᵀ is [[1, -2], [2, 1]], and Q·Vᵀ is [[1, 2], [0, 3]].
  const Task task(lesson_of(given("Q", "[[1, 0], [0, 1]]") + given("K", "[[1, 2], [-2, 1]]") +
                            given("V", "[[1, 0], [2, 3]]") + step("S", "score", R"(["Q", "K"])") +
                            step("A", "softmax", R"(["S"])") +
                            step("C", "weighted_sum", R"(["A", "V"])")));
  CHECK(mistakes(checked(task, {{"S", "1,2\n0,3\n"}}), "S") == "score.values");
  const auto partly = checked(task, {{"S", "-1,2\n7,5\n"}});
  REQUIRE(mistakes(partly, "S") == "slip.sign");
  CHECK_FALSE(found_at(partly, "S").front().sure);
}

TEST_CASE("a sum that was skipped is no block that was never filled in") {
  const Task task(lesson_of(given("E", "[[1, 0], [2, 0], [3, 0], [4, 0]]") +
                            given("P", "[[0, 5], [0, 6], [0, 7], [0, 8]]") +
                            step("X", "add", R"(["E", "P"])")));
  const auto report = checked(task, {{"X", "1,0\n2,0\n3,0\n4,0\n"}});
  CHECK(mistakes(report, "X") == "add.skipped");
  CHECK(first_words(report, "X") == "P was not added.");
}

TEST_CASE("ids that were counted from 1 are named, and ids have no neighbours") {
  const Task task("title = \"t\"\nsummary = \"s\"\nsource = \"drawn\"\ntext = \"a b c d\"\n" +
                  given("T", "[[1, 2], [3, 4], [5, 6], [7, 8]]") +
                  "[[step]]\nname = \"ids\"\nop = \"tokenise\"\n" +
                  step("E", "embed", R"(["ids", "T"])"));
  CHECK(mistakes(checked(task, {{"ids", "1,2,3,4\n"}}), "ids") == "tokens.from-one");
  CHECK(mistakes(checked(task, {{"ids", ",,3,\n"}}), "ids") == "tokens.from-one");
  const auto row = checked(task, {{"E", "1,2\n3,4\n1,2\n7,8\n"}});
  CHECK(mistakes(row, "E") == "embed.other-row");
  CHECK(first_words(row, "E") == "This is another row of T.");
  CHECK(mistakes(checked(task, {{"E", "7,8\n3,4\n1,2\n7,8\n"}}), "E") == "embed.other-row");
  // One number of another row is no row, and neither is the end of one with the start of the next.
  CHECK(mistakes(checked(task, {{"E", "1,2\n3,4\n2,3\n7,8\n"}}), "E") != "embed.other-row");
  CHECK(mistakes(checked(task, {{"E", "1,2\n3,4\n7,6\n7,8\n"}}), "E") != "embed.other-row");
}

TEST_CASE("two steps that were not submitted and explain as well are both named") {
  // S = Q/2 · (K/2)ᵀ; with one of the two not divided it is twice as large.
  const Task task(lesson_of(given("Q", "[[1, 2], [3, 4]]") + given("K", "[[1, 0], [2, 1]]") +
                            step("Q_half", "scale", R"(["Q"])", "by = 2") +
                            step("K_half", "scale", R"(["K"])", "by = 2") +
                            step("S", "score", R"(["Q_half", "K_half"])")));
  const auto report = checked(task, {{"S", "0.5,2.0\n1.5,5.0\n"}});
  CHECK(mistakes(report, "S") == "scale.skipped");
  CHECK(first_words(report, "S") ==
        "In K_half, which was not submitted: K was not scaled: this step is K / 2. Or in Q_half: Q "
        "was not scaled: this step is Q / 2.");
}

TEST_CASE("tokens that were repeated are named in a file for each head, of which there are fewer") {
  const Task task(lesson_of(given("K", "[[[1.5, -2], [0.75, 3]], [[-1, 2.5], [4, -0.5]]]") +
                            step("K_rep", "repeat_kv", R"(["K"])", "times = 2")));
  Submission work =
      submission_of({{"K_rep", "1.50,-2.00\n1.50,-2.00\n0.75,3.00\n0.75,3.00\n"}}, task.trace);
  work.files.push_back(work.files[0]);
  work.files[0].leading = {0};
  work.files[1].leading = {1};
  work.files[1].written = array_of_values(
      {4, 2}, std::vector<double>{-1, 2.5, -1, 2.5, 4, -0.5, 4, -0.5}, Precision::digits);
  CHECK(mistakes(check_submission(task.lesson, task.trace, work, {}), "K_rep") ==
        "gqa.tokens-repeated");
}

TEST_CASE("two rows that are swapped in every head are named") {
  const Task task(
      lesson_of(given("A", "[[[1, 2], [3, 5]], [[7, 4], [6, 9]], [[8, 11], [13, 10]]]") +
                given("B", "[[[1, 1], [1, 1]], [[1, 1], [1, 1]], [[1, 1], [1, 1]]]") +
                step("S", "add", R"(["A", "B"])")));
  Submission work = submission_of({{"S", "0,0\n0,0\n"}}, task.trace);
  work.files[0].written = array_of_values(
      {3, 2, 2}, std::vector<double>{4, 6, 2, 3, 7, 10, 8, 5, 14, 11, 9, 12}, Precision::float64);
  const CheckReport swapped = check_submission(task.lesson, task.trace, work, {});
  CHECK(mistakes(swapped, "S") == "slip.rows-swapped");
  CHECK(found_at(swapped, "S").front().cells == 12);
}

TEST_CASE("rows that are all alike show no bias") {
  const auto offset = [](const std::string& rows, const std::string& work) {
    const Task task(lesson_of(given("X", rows) + given("W", "[[1, 0], [0, 1]]") +
                              step("Y", "project", R"(["X", "W"])")));
    return mistakes(checked(task, {{"Y", work}}), "Y");
  };
  CHECK(offset("[[1.5, 2], [1.51, 2], [1.5, 2.01]]", "1.83,2.71\n1.83,2.71\n1.83,2.71\n").empty());
  CHECK(offset("[[1.5, 2], [-0.5, 3], [4, 1.25]]", "1.83,2.71\n-0.17,3.71\n4.33,1.96\n") ==
        "project.unknown-offset");
}

// The right product by hand: 1 · 2 + 2 · 1 = 4, 1 · 0 + 2 · 1 = 2, …; four times that without
// the 4.
TEST_CASE("a gradient of queries without the scale is not multiplied by another matrix") {
  const Task task(lesson_of(given("Q", "[[1, 2], [3, 1]]") + given("K", "[[2, 0], [1, 1]]") +
                            given("d_Z", "[[4, 8], [12, 4]]") +
                            step("S", "score", R"(["Q", "K"])") +
                            step("Z", "scale", R"(["S"])", "by = 4") +
                            step("d_S", "backward", R"(["d_Z"])", "through = \"Z\"\nto = \"S\"") +
                            step("d_Q", "backward", R"(["d_S"])", "through = \"S\"\nto = \"Q\"")));
  const auto report = checked(task, {{"d_S", "1,2\n3,1\n"}, {"d_Q", "16,8\n28,4\n"}});
  CHECK(mistakes(report, "d_Q") == "backward.scale-skipped");
  CHECK(found_at(report, "d_Q").front().sure);
}

TEST_CASE("a norm that was left out is named at the norm") {
  const Task task(lesson_of(given("X", "[[1, 3], [2, 8]]") + given("gain", "[1, 2]") +
                            step("Y", "rms_norm", R"(["X", "gain"])")));
  CHECK(mistakes(checked(task, {{"Y", "1.00,3.00\n2.00,8.00\n"}}), "Y") == "norm.skipped");
}

// 10 / √2 = 7.0711, and 7.0710 with two digits swapped is 7.0701.
TEST_CASE("a number with fewer decimals than the others may be rounded, whatever else makes it") {
  const Task task(lesson_of(given("S", "[[10, 2], [3, 1]]") +
                            step("Z", "scale", R"(["S"])", "by = \"sqrt(2)\"")));
  const auto report = checked(task, {{"Z", "7.07,1.4142\n2.1213,0.7071\n"}});
  CHECK(mistakes(report, "Z") == "slip.too-few-decimals slip.digits-swapped");
  CHECK_FALSE(found_at(report, "Z").front().sure);
  CHECK_FALSE(found_at(report, "Z").back().sure);
}

// The wrong product by hand: 1 · 1 + 2 · 0 = 1, 1 · 2 + 2 · 1 = 4, ….
TEST_CASE("queries in place of keys are named in the gradient of grouped queries") {
  const Task task(lesson_of(
      given("Q", "[[[1, 2], [0, 1]], [[3, 1], [1, 1]]]") + given("K", "[[[2, 5], [7, 3]]]") +
      given("d_S", "[[[1, 2], [3, 1]], [[2, 1], [1, 4]]]") + step("S", "score", R"(["Q", "K"])") +
      step("d_Q", "backward", R"(["d_S"])", "through = \"S\"\nto = \"Q\"")));
  Submission work = submission_of({{"d_Q", "0,0\n0,0\n"}}, task.trace);
  work.files[0].written =
      array_of_values({2, 2, 2}, std::vector<double>{1, 4, 3, 7, 7, 3, 7, 5}, Precision::float64);
  CHECK(mistakes(check_submission(task.lesson, task.trace, work, {}), "d_Q") ==
        "backward.wrong-operand");
}

TEST_CASE("rows that hold the row before in every head are not swapped") {
  const Task task(
      lesson_of(given("A", "[[[12, 25], [37, 41], [58, 63]], [[77, 82], [93, 11], [29, 34]]]") +
                given("B", "[[[0, 0], [0, 0], [0, 0]], [[0, 0], [0, 0], [0, 0]]]") +
                step("S", "add", R"(["A", "B"])")));
  Submission work = submission_of({{"S", "0,0\n0,0\n0,0\n"}}, task.trace);
  work.files[0].written = array_of_values(
      {2, 3, 2}, std::vector<double>{12, 25, 12, 25, 37, 41, 77, 82, 77, 82, 93, 11},
      Precision::float64);
  CHECK(mistakes(check_submission(task.lesson, task.trace, work, {}), "S").find("swapped") ==
        std::string::npos);
}

TEST_CASE("rows that hold the next row's numbers, the last one right, are not swapped") {
  const Task task(lesson_of(given("A", "[[12, 25], [37, 41], [58, 63]]") +
                            given("B", "[[0, 0], [0, 0], [0, 0]]") +
                            step("S", "add", R"(["A", "B"])")));
  CHECK(mistakes(checked(task, {{"S", "37,41\n58,63\n58,63\n"}}), "S") == "slip.neighbour");
  CHECK(mistakes(checked(task, {{"S", "37,41\n12,25\n58,63\n"}}), "S") == "slip.rows-swapped");
}

TEST_CASE("two exchanged cells are named, and neither where a third is wrong") {
  const Task task(lesson_of(given("A", "[[1, 2, 4], [8, 16, 32]]") +
                            given("B", "[[0, 0, 0], [0, 0, 0]]") +
                            step("S", "add", R"(["A", "B"])")));
  const auto swapped = checked(task, {{"S", "32,2,4\n8,16,1\n"}});
  CHECK(mistakes(swapped, "S") == "slip.cells-swapped");
  CHECK(found_at(swapped, "S").front().sure);
  CHECK(mistakes(checked(task, {{"S", "32,2,4\n8,77,1\n"}}), "S") != "slip.cells-swapped");
  CHECK(mistakes(checked(task, {{"S", "32,2,4\n8,16,7\n"}}), "S") != "slip.cells-swapped");
}

TEST_CASE("an infinity without its minus is a sign") {
  const Task task(lesson_of(given("S", "[[1.5, 2.5], [3.5, 4.5]]") +
                            step("M", "mask", R"(["S"])", "kind = \"causal\"")));
  const auto report = checked(task, {{"M", "1.5,inf\n3.5,4.5\n"}});
  CHECK(mistakes(report, "M") == "slip.sign");
  CHECK(first_words(report, "M") == "The sign is wrong: the minus is missing.");
}

const Task& copied_rows() {
  static const Task task(lesson_of(
      given("A", "[[1.37, 2.51], [3.12, -0.44], [4.85, 1.93], [-2.26, 0.68]]") +
      given("B", "[[0, 0], [0, 0], [0, 0], [0, 0]]") + step("S", "add", R"(["A", "B"])")));
  return task;
}

TEST_CASE("another row's numbers are named, where chance would not make them") {
  const auto report =
      checked(copied_rows(), {{"S", "1.37,2.51\n3.12,-0.44\n4.85,1.93\n1.37,2.51\n"}});
  CHECK(mistakes(report, "S") == "slip.other-row");
  CHECK(found_at(report, "S").front().sure);
  const auto next =
      checked(copied_rows(), {{"S", "1.37,2.51\n1.37,2.51\n4.85,1.93\n-2.26,0.68\n"}});
  CHECK(mistakes(next, "S") == "slip.neighbour");
  const Task small(lesson_of(given("A", "[[1, 0], [0, 1], [1, 1], [2, 0]]") +
                             given("B", "[[0, 0], [0, 0], [0, 0], [0, 0]]") +
                             step("S", "add", R"(["A", "B"])")));
  CHECK(mistakes(checked(small, {{"S", "1,0\n0,1\n1,1\n0,1\n"}}), "S") == "");
}

TEST_CASE("one digit may be that of a neighbouring cell by chance") {
  const Task task(lesson_of(given("A", "[[5, 2], [7, 4]]") + given("B", "[[0, 0], [0, 0]]") +
                            step("S", "add", R"(["A", "B"])")));
  const auto digit = checked(task, {{"S", "5,2\n5,4\n"}});
  CHECK(mistakes(digit, "S") == "slip.neighbour");
  CHECK_FALSE(found_at(digit, "S").front().sure);
  const auto number =
      checked(copied_rows(), {{"S", "1.37,2.51\n1.37,-0.44\n4.85,1.93\n-2.26,0.68\n"}});
  CHECK(mistakes(number, "S") == "slip.neighbour");
  CHECK(found_at(number, "S").front().sure);
}

TEST_CASE("a step of the wrong shape was submitted") {
  const Task task(
      lesson_of(given("A", "[[0.5, 0.5], [0.25, 0.75]]") + given("K", "[[1, 2], [3, 5]]") +
                given("V", "[[1, 2, 4], [8, 3, 5]]") + step("S", "score", R"(["A", "K"])") +
                step("C", "weighted_sum", R"(["A", "V"])") + step("T", "transpose", R"(["C"])")));
  // A·K, 2 × 2, and its transpose
  const auto report = checked(task, {{"C", "2,3.5\n2.5,4.25\n"}, {"T", "2,2.5\n3.5,4.25\n"}});
  for (const char* name : {"C", "T"}) {
    for (const Diagnosis& one : found_at(report, name))
      CHECK(one.says.find("not submitted") == std::string::npos);
  }
}

TEST_CASE("weights that are all 0 may not have been filled in") {
  const Task task(
      lesson_of(given("S", "[[0, 0], [0, 0], [0, 0]]") + step("A", "softmax", R"(["S"])")));
  const auto report = checked(task, {{"A", "0,0\n0,0\n0,0\n"}});
  REQUIRE(mistakes(report, "A").find("softmax.zero-power") != std::string::npos);
  for (const Diagnosis& one : found_at(report, "A")) CHECK_FALSE(one.sure);
}

TEST_CASE("zeros that a mistake makes of some wrong cells, but not of all, are no proof of it") {
  // softmax over the whole matrix: e^(x - 140) is 0 but for x = 140
  const Task task(
      lesson_of(given("S",
                      "[[25, 41, -30, -13], [25, 47, -13, -13], [-76, -106, 140, 38], [-13, "
                      "-20, 15, 6]]") +
                step("A", "softmax", R"(["S"])")));
  const auto report = checked(task, {{"A", "0,0,0,0\n0,0,0,0\n0,0,1,0\n0,0,0,0.000\n"}});
  const std::vector<Diagnosis> found = found_at(report, "A");
  REQUIRE(found.size() == 1);
  CHECK(found.front().id == "softmax.zero-power");
  CHECK_FALSE(found.front().sure);
}

TEST_CASE("a term that takes another row is named, where chance would not make the sum") {
  const Task task(lesson_of(given("A", "[[0.5, 0.3, 0.2]]") +
                            given("V", "[[1.5, -2.1], [3.7, 0.4], [-1.2, 2.6]]") +
                            step("C", "weighted_sum", R"(["A", "V"])")));
  // 0.75 + 0.3 · (-1.2) - 0.24 and -1.05 + 0.3 · 2.6 + 0.52; right are 1.62 and -0.41.
  const auto report = checked(task, {{"C", "0.15,0.25\n"}});
  CHECK(mistakes(report, "C") == "slip.other-row-in-term");
  CHECK(mistakes(checked(task, {{"C", "0.15,0.31\n"}}), "C") == "");
  const Task small(lesson_of(given("X", "[[1, 2, 1]]") + given("W", "[[1, 0], [0, 1], [2, 1]]") +
                             step("Q", "project", R"(["X", "W"])")));
  CHECK(mistakes(checked(small, {{"Q", "7,3\n"}}), "Q") == "");  // twice the third row
}

TEST_CASE("a digit that was left out is named, but not the last one of three") {
  const Task task(lesson_of(given("A", "[[12.5, 3.258], [0.148, 7.75]]") +
                            given("B", "[[0, 0], [0, 0]]") + step("S", "add", R"(["A", "B"])")));
  CHECK(mistakes(checked(task, {{"S", "12.5,3.258\n0.18,7.75\n"}}), "S") == "slip.lost-digit");
  CHECK(mistakes(checked(task, {{"S", "1.5,3.258\n0.148,7.75\n"}}), "S") == "slip.lost-digit");
  CHECK(mistakes(checked(task, {{"S", "12.5,3.25\n0.148,7.75\n"}}), "S") == "slip.lost-digit");
  CHECK(mistakes(checked(task, {{"S", "12.5,3.258\n0.14,7.751\n"}}), "S") == "");
  CHECK(mistakes(checked(task, {{"S", "12.5,3.258\n0.14,7.75\n"}}), "S") == "");
  CHECK(mistakes(checked(task, {{"S", "12.5,3.259\n0.18,7.75\n"}}), "S") == "");
}

TEST_CASE("e^0 that was taken as 0 is named, with and without the largest number subtracted") {
  const Task task(
      lesson_of(given("S", "[[0, 1, 2], [1, 0, 3]]") + step("W", "softmax", R"(["S"])")));
  // 1 / (1 + e), e / (1 + e), 1 / (1 + e²), e² / (1 + e²)
  CHECK(mistakes(checked(task, {{"W", "0.000,0.269,0.731\n0.119,0.000,0.881\n"}}), "W") ==
        "softmax.zero-power");
  // e^-2 and e^-1 over their sum, e^-2 and e^-3 over theirs
  CHECK(mistakes(checked(task, {{"W", "0.269,0.731,0.000\n0.731,0.269,0.000\n"}}), "W") ==
        "softmax.zero-power");
  const Task powers(lesson_of(given("S", "[[0, 1], [2, 0]]") + step("P", "exp", R"(["S"])")));
  CHECK(mistakes(checked(powers, {{"P", "0.000,2.718\n7.389,0.000\n"}}), "P") ==
        "softmax.zero-power");
}

TEST_CASE("percentages without their sign are told as such") {
  const auto report = checked(one_softmax(), {{"W", "27,73\n88,12\n"}});
  CHECK(mistakes(report, "W") == "slip.decimal-point");
  CHECK(first_words(report, "W") ==
        "The decimal point is in the wrong place: a percentage needs its sign, %.");
}

TEST_CASE("values that were not mixed, or only added up, are named") {
  const Task task(lesson_of(given("A", "[[1, 0], [0.25, 0.75]]") + given("V", "[[2, 4], [6, 9]]") +
                            step("C", "weighted_sum", R"(["A", "V"])")));
  CHECK(mistakes(checked(task, {{"C", "2,4\n6,9\n"}}), "C") == "weighted-sum.skipped");
  CHECK(mistakes(checked(task, {{"C", "2,4\n8,13\n"}}), "C") == "weighted-sum.unweighted");
  CHECK(mistakes(checked(task, {{"C", "8,13\n8,13\n"}}), "C") == "weighted-sum.unweighted");
}

TEST_CASE("one part left out, mixed up or taken by another formula is named") {
  struct Slip {
    std::string lesson;
    const char* step;
    const char* written;
    const char* id;
  };
  const std::string masked =
      given("S", "[[0, 1], [2, 1]]") + step("M", "mask", R"(["S"])", "kind = \"causal\"");
  const std::string rotated = given("Q", "[[1, 0], [1, 0]]") + given("K", "[[1, 0], [0, 1]]") +
                              step("Q_r", "rope", R"(["Q"])") + step("K_r", "rope", R"(["K"])") +
                              step("S", "score", R"(["Q_r", "K_r"])");
  const std::string normed = given("X", "[[3, 4, 0], [0, 0, 2]]") + given("g", "[[1, 1, 1]]") +
                             given("W", "[[1, 0], [0, 2], [1, 1]]") +
                             step("N", "rms_norm", R"(["X", "g"])", "eps = 0") +
                             step("Y", "project", R"(["N", "W"])");
  const Slip slip = GENERATE_COPY(values<Slip>({
      {masked + step("E", "exp", R"(["M"])"), "E", "1.000,1.000\n7.389,2.718\n", "mask.zero"},
      {masked + step("A", "softmax", R"(["M"])"), "A", "0.500,0.500\n0.731,0.269\n", "mask.zero"},
      {rotated, "S", "1.000,0.000\n1.000,0.000\n", "rope.skipped"},
      {rotated, "S", "1.000,0.000\n0.540,0.841\n", "rope.skipped"},
      {normed, "N", "0.849,1.131,0.000\n0.000,0.000,1.414\n", "rms-norm.sample-variance"},
      {normed, "Y", "3.000,8.000\n2.000,2.000\n", "norm.skipped"},
      {given("Q", "[[1, 0], [0, 2]]") + given("K", "[[0, 0], [0, 0]]") +
           given("V", "[[4, 8], [2, 2]]") + step("S", "score", R"(["Q", "K"])") +
           step("A", "softmax", R"(["S"])") + step("C", "weighted_sum", R"(["A", "V"])"),
       "C", "0.5,1.0\n0.5,1.0\n", "weighted-sum.queries"},
      {given("Q", "[[3, 4], [1, 2]]") + given("K", "[[1, 1], [2, 1]]") +
           step("S", "score", R"(["Q", "K"])") + step("T", "scale", R"(["S"])"),
       "T", "5.000,7.143\n2.143,2.857\n", "scale.rounded-root"},
      {given("Q", "[[3, 4], [1, 2]]") + given("K", "[[1, 1], [2, 1]]") +
           step("S", "score", R"(["Q", "K"])") + step("T", "scale", R"(["S"])"),
       "T", "4.9645,7.0922\n2.1277,2.8369\n", "scale.rounded-root"},
      {given("Q", "[[3, 4], [1, 2]]") + given("K", "[[1, 1], [2, 1]]") +
           step("S", "score", R"(["Q", "K"])") + step("T", "scale", R"(["S"])"),
       "T", "4.9505,7.0721\n2.1216,2.8289\n", "scale.rounded-root"},
      {given("A", "[[1, 2], [3, 4]]") + given("B", "[[5, 1], [2, 2]]") +
           step("C", "add", R"(["A", "B"])"),
       "C", "-4,1\n1,2\n", "add.subtracted"},
      {given("E", "[[0, 0], [0, 0], [0, 0]]") + given("P", "[[1, 2], [3, 5], [6, 9]]") +
           step("X", "positions", R"(["E", "P"])"),
       "X", "3,5\n6,9\n7,7\n", "positions.from-one"},
      {given("G", "[[1, 2], [-1, 3]]") + given("U", "[[2, 3], [4, 5]]") +
           step("H", "silu", R"(["G"])") + step("M", "multiply", R"(["H", "U"])"),
       "M", "2.000,6.000\n-4.000,15.000\n", "swiglu.no-silu"},
      {given("Z", "[[0, 0], [1.0986, 0]]") + given("t", "[[0], [0]]") +
           step("L", "cross_entropy", R"(["Z", "t"])", "reduction = \"none\""),
       "L", "0.3010\n0.1249\n", "cross-entropy.base-10"},
  }));
  INFO(slip.id);
  const Task task(lesson_of(slip.lesson));
  const auto report = checked(task, {{slip.step, slip.written}});
  const std::string named = mistakes(report, slip.step);
  CHECK((" " + named + " ").find(" " + std::string(slip.id) + " ") != std::string::npos);
  CHECK(report.first_wrong == slip.step);
}

// By hand: X · W is 8, 3 in row 1. Row 2 is the bias alone.
TEST_CASE("all products of a sum are not one term that was left out") {
  const Task task(lesson_of(given("X", "[[1, 2, 3], [2, 1, 1]]") +
                            given("W", "[[1, 2], [0.5, -1], [2, 1]]") + given("b", "[1, 2]") +
                            step("P", "project", R"(["X", "W", "b"])")));
  const auto report = checked(task, {{"P", "9.0,5.0\n1.0,2.0\n"}});
  CHECK(report.first_wrong == "P");
  CHECK(mistakes(report, "P").find("slip.dropped-term") == std::string::npos);
}

// By hand: e^(0 - 1) · 2 + 1 + 0.5 is 2.2358, without the new weights 0.7358.
TEST_CASE("a tile's whole sum is one term beside the product of the tiles before") {
  const Task task(lesson_of(given("l", "[[2], [3]]") + given("a", "[[0], [0]]") +
                            given("b", "[[1], [1]]") + given("P", "[[1, 0.5], [1, 2]]") +
                            step("s", "running_sum", R"(["l", "a", "b", "P"])")));
  const auto report = checked(task, {{"s", "0.7358\n4.1036\n"}});
  CHECK(mistakes(report, "s") == "slip.dropped-term");
}

// By hand: row 1 lacks -3 · (-2.5, 1.5, 0.5), row 3 lacks 1.5 · (-1, 1.5, 3.5).
TEST_CASE("a slip that was made in two rows is told of the first") {
  const Task task(lesson_of(given("X", "[[3, -3, 4], [-1.5, 3, 0.5], [1.5, 3, -3]]") +
                            given("W", "[[-1, 1.5, 3.5], [-2.5, 1.5, 0.5], [-2, -1, 0.5]]") +
                            step("P", "project", R"(["X", "W"])")));
  const auto report =
      checked(task, {{"P", "-11.00,0.50,12.50\n-7.00,1.75,-3.50\n-1.50,7.50,0.00\n"}});
  REQUIRE(mistakes(report, "P") == "slip.dropped-term");
  const Diagnosis& found = report.steps.front().mistakes.front();
  CHECK(found.cells == 3);
  CHECK(found.says == "One term of the sum was left out: X[1,2] · W[2,1].");
}

}  // namespace

}  // namespace check_diagnosis_tests
