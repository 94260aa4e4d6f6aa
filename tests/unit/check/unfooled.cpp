#include <catch2/catch.hpp>

#include "check/diagnose/candidates.hpp"
#include "check/grading/marks.hpp"
#include "check/submissions.hpp"
#include "formats/arrays/dtype.hpp"

namespace check_unfooled_tests {

/// What looks right, or like a known mistake, and is not. The two words by hand stand in
/// verdicts.cpp.
namespace {

using namespace qkv;
using namespace qkv::test;

TEST_CASE("a zero has no exponent that could excuse it") {
  const auto report = checked(two_words(), {{"attention_weights", "0e0,0e9\n0e0,0e1\n"}});
  CHECK(verdicts(report, "attention_weights") == "wc cw");
}

TEST_CASE("a power of ten excuses no more than half of what is due, and no number beside it") {
  CHECK(verdicts(checked(two_words(), {{"attention_weights", "1e0,1e0\n0.3,0.99\n"}}),
                 "attention_weights") == "cw wc");
  CHECK(verdicts(checked(two_words(), {{"attention_weights", "1e0,0\n1,0\n"}}),
                 "attention_weights") == "cc ww");
}

TEST_CASE("a power of ten does not make coarse what was not handed in") {
  CHECK(verdicts(checked(two_words(), {{"context", "4e0,10\n6.97,2.04\n"}}), "context") == "cc cw");
}

TEST_CASE("a given is not copied to the next whole number") {
  const auto report = checked(two_words(), {{"W_K", "0,1\n0,0\n"}});
  CHECK(verdicts(report, "W_K") == "wc cw");
  CHECK(report.first_wrong == "W_K");
}

TEST_CASE("numbers of a program that are 0 within its unit are no hundredth of the right ones") {
  // P = X·A = [[10, 300], [400, 25]]: a bfloat16's unit is 400 / 128, over 3.
  const Task task(
      "title = \"t\"\n[[given]]\nname = \"X\"\nvalue = [[1, 0], [0, 5]]\n"
      "[[given]]\nname = \"A\"\nvalue = [[10, 300], [80, 5]]\n"
      "[[step]]\nname = \"P\"\nop = \"matmul\"\nof = [\"X\", \"A\"]\n");
  CHECK(mistakes(checked(task, {{"P", "0.1,3\n4,0.25\n"}}), "P") == "slip.decimal-point");
  Submission work = submission_of({{"P", "0,0\n0,0\n"}}, task.trace);
  const auto named = [&](std::vector<double> numbers) {
    work.files[0].written = array_of_values({2, 2}, std::move(numbers), Precision::bfloat16);
    const CheckReport report = check_submission(task.lesson, task.trace, work, {});
    const auto& found = report.steps[0].mistakes;
    return !found.empty() && found[0].sure;
  };
  CHECK(!named({0.1, 3, 2, 0.25}));
  CHECK(named({100, 3000, 4000, 250}));
}

TEST_CASE("cells with fewer decimals than the others are named so") {
  // P = [[1.2346, 0.0432], [2.3456, 3.4568]]
  const Task task(
      "title = \"t\"\n[[given]]\nname = \"X\"\nvalue = [[1, 0], [0, 1]]\n"
      "[[given]]\nname = \"A\"\nvalue = [[1.2346, 0.0432], [2.3456, 3.4568]]\n"
      "[[step]]\nname = \"P\"\nop = \"matmul\"\nof = [\"X\", \"A\"]\n");
  CHECK(mistakes(checked(task, {{"P", "1.2,0\n2.346,3.4568\n"}}), "P") == "slip.too-few-decimals");
  CHECK(mistakes(checked(task, {{"P", "1.2000,0.0000\n2.3,3.4568\n"}}), "P") ==
        "slip.too-few-decimals");
  CHECK(mistakes(checked(task, {{"P", "1.3,0.0432\n2.3456,3.4568\n"}}), "P").empty());
  // One of three wrong numbers may come that near by chance.
  CHECK(mistakes(checked(task, {{"P", "1.2,9.8765\n7.1234,3.4568\n"}}), "P").empty());
}

TEST_CASE("two files that were exchanged are named as such") {
  // Y = X·A and Z = X·B are no numbers of each other.
  const Task task(
      "title = \"t\"\n[[given]]\nname = \"X\"\nvalue = [[1, 2], [3, 4]]\n"
      "[[given]]\nname = \"A\"\nvalue = [[1, 0], [1, 2]]\n"
      "[[given]]\nname = \"B\"\nvalue = [[5, 1], [0, 2]]\n"
      "[[step]]\nname = \"Y\"\nop = \"matmul\"\nof = [\"X\", \"A\"]\n"
      "[[step]]\nname = \"Z\"\nop = \"matmul\"\nof = [\"X\", \"B\"]\n");
  const std::string y = "3,4\n7,8\n", z = "5,5\n15,11\n";
  const CheckReport both = checked(task, {{"Y", z}, {"Z", y}});
  CHECK(mistakes(both, "Y") == "slip.files-exchanged");
  CHECK(mistakes(both, "Z") == "slip.files-exchanged");
  CHECK(mistakes(checked(task, {{"Y", z}, {"Z", z}}), "Y").empty());
}

TEST_CASE("two exchanged weights make the numbers of two exchanged files, and both are named") {
  const Task task(
      "title = \"t\"\n[[given]]\nname = \"X\"\nvalue = [[1, 2], [3, 4]]\n"
      "[[given]]\nname = \"W_Q\"\nvalue = [[1, 0], [1, 2]]\n"
      "[[given]]\nname = \"W_K\"\nvalue = [[5, 1], [0, 2]]\n"
      "[[step]]\nname = \"Q\"\nop = \"project\"\nof = [\"X\", \"W_Q\"]\n"
      "[[step]]\nname = \"K\"\nop = \"project\"\nof = [\"X\", \"W_K\"]\n");
  const CheckReport both = checked(task, {{"Q", "5,5\n15,11\n"}, {"K", "3,4\n7,8\n"}});
  CHECK(mistakes(both, "Q") == "slip.files-exchanged project.wrong-weight");
  CHECK(mistakes(both, "K") == "slip.files-exchanged project.wrong-weight");
}

TEST_CASE("two columns in each other's place are no neighbour's numbers") {
  const auto report = checked(two_words(), {{"V", "10,4\n5,7\n"}});
  CHECK(mistakes(report, "V") == "slip.columns-swapped");
}

TEST_CASE("an array of zeros is no mask") {
  Submission work = submission_of({{"context", "0,0\n0,0\n"}}, two_words().trace);
  work.files[0].written = array_of_values({2, 2}, std::vector<double>(4), Precision::float32);
  CHECK(mistakes(check_submission(two_words().lesson, two_words().trace, work, {}), "context") ==
        "tile.zero");
}

const std::string three_words = R"(
title = "Three words"
[[given]]
name = "scores"
value = [[1, 2, 0], [0, 1, 1], [2, -1, 3]]
[[step]]
name = "masked_scores"
op = "mask"
of = ["scores"]
kind = "causal"
)";

TEST_CASE("one row of zeros behind a mask is not called a mistake in the mask as a fact") {
  const Task task(three_words + R"(
[[given]]
name = "V"
value = [[1, 2, 3, 5], [4, 1, 7, 2], [2, 8, 1, 3]]
[[step]]
name = "attention_weights"
op = "softmax"
of = ["masked_scores"]
[[step]]
name = "context"
op = "weighted_sum"
of = ["attention_weights", "V"]
)");
  for (const std::size_t row : {0U, 2U}) {
    std::vector<double> numbers(task.trace.at("context").values.begin(),
                                task.trace.at("context").values.end());
    std::fill_n(numbers.begin() + std::ptrdiff_t(4 * row), 4, 0.0);
    Submission work = submission_of({{"context", "0,0,0,0\n0,0,0,0\n0,0,0,0\n"}}, task.trace);
    work.files[0].written = array_of_values({3, 4}, numbers, Precision::float64);
    const CheckReport report = check_submission(task.lesson, task.trace, work, {});
    CHECK(mistakes(report, "context").find("tile.zero") != std::string::npos);
    for (const Diagnosis& found : report.steps[0].mistakes)
      CHECK((found.id == "tile.zero" || !found.sure));
  }
}

TEST_CASE("rounding makes no mistake fit that is farther away than the right numbers") {
  const std::vector<double> right = {0.5, 0.25, 0.75};
  const Mismatch noise{.shape = {1, 3},
                       .step = 0,
                       .written = {0.501, 0.251, 0.749},
                       .is_masked = {false, false, false},
                       .tolerance = {1e-9, 1e-9, 1e-9},
                       .wrong = {true, true, true},
                       .right = right,
                       .exact = {}};
  const auto mistake = [](std::vector<double> numbers) {
    return std::vector{Candidate{.id = "far",
                                 .says = "",
                                 .hint = "",
                                 .numbers = tensor_of({1, 3}, std::move(numbers)),
                                 .room = {0.2, 0.2, 0.2}}};
  };
  CHECK(explain_mismatch(noise, mistake({0.6, 0.35, 0.65})).empty());
  CHECK(explain_mismatch(noise, mistake({0.5015, 0.2515, 0.7485})).size() == 1);
}

TEST_CASE("a part of masked scores has the part of the mask") {
  const Task task(three_words + R"(
[[step]]
name = "part"
op = "take"
of = ["masked_scores"]
columns = [1, 2]
[[step]]
name = "A"
op = "softmax"
of = ["part"]
)");
  CHECK(mistakes(checked(task, {{"A", "1,-0.1\n0.3,0.7\n0.99,0.01\n"}}), "A").empty());
  // Softmax of 1, 2 is 0.269, 0.731; then the second is hidden.
  CHECK_THAT(mistakes(checked(task, {{"A", "0.269,0\n0.269,0.731\n0.953,0.047\n"}}), "A"),
             Catch::Contains("softmax.mask-after"));
}

TEST_CASE("a symmetric weight that was transposed explains nothing") {
  const Task task(R"(
title = "A symmetric weight"
[[given]]
name = "X"
value = [[1, 0.5], [2, -1], [0.25, 3]]
[[given]]
name = "W_Q"
value = [[1, 0.3], [0.7, 2]]
[[given]]
name = "W_K"
value = [[0.2, 1], [1, -0.4]]
[[step]]
name = "Q"
op = "project"
of = ["X", "W_Q"]
[[step]]
name = "K"
op = "project"
of = ["X", "W_K"]
[[step]]
name = "scores"
op = "score"
of = ["Q", "K"]
[[step]]
name = "scaled_scores"
op = "scale"
of = ["scores"]
)");
  const auto report = checked(task, {{"scaled_scores",
                                      "1.404e0,1.633e0,2.038e0\n-1.495e-1,-2.927e0,3.744e0\n"
                                      "4.600e0,9.313e0,9.87e-1\n"}});
  CHECK(mistakes(report, "scaled_scores").empty());  // -0.21 / √2 = -0.1485
}

TEST_CASE("a constant is no bias, though right rows are alike") {
  const Task alike(R"(
title = "Two rows that are alike"
[[given]]
name = "X"
value = [[1, 2], [1, 2]]
[[given]]
name = "W"
value = [[1, 0, 2], [0, 1, 1]]
[[step]]
name = "Y"
op = "project"
of = ["X", "W"]
)");
  CHECK(mistakes(checked(alike, {{"Y", "0.5,0.5,0.5\n0.5,0.5,0.5\n"}}), "Y").empty());
  CHECK(mistakes(checked(alike, {{"Y", "7.5,7.5,7.5\n7.5,7.5,7.5\n"}}), "Y").empty());
}

TEST_CASE("a query that two scores share is scaled for both, and once") {
  const Task shared(R"(
title = "Two tiles of keys"
[[given]]
name = "X"
value = [[1, 2, 0, 1], [0, 1, 2, 1]]
[[given]]
name = "W_Q"
value = [[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0], [0, 0, 0, 2]]
[[given]]
name = "K_1"
value = [[1, 0, 0, 0], [0, 1, 0, 0]]
[[given]]
name = "K_2"
value = [[0, 0, 1, 0], [0, 0, 0, 1]]
[[step]]
name = "Q"
op = "project"
of = ["X", "W_Q"]
[[step]]
name = "scores_1"
op = "score"
of = ["Q", "K_1"]
[[step]]
name = "scaled_1"
op = "scale"
of = ["scores_1"]
[[step]]
name = "scores_2"
op = "score"
of = ["Q", "K_2"]
[[step]]
name = "scaled_2"
op = "scale"
of = ["scores_2"]
)");
  Texts work = {{"Q", "1,2,0,1\n0,1,2,1\n"},
                {"scores_1", "1,2\n0,1\n"},
                {"scaled_1", "1,2\n0,1\n"},
                {"scores_2", "0,1\n2,1\n"},
                {"scaled_2", "0,1\n2,1\n"}};
  CHECK(!checked(shared, work).first_wrong);
  work["scaled_2"] = "0,0.5\n1,0.5\n";
  CHECK(checked(shared, work).first_wrong == "scaled_2");
  CHECK(mistakes(checked(shared, work), "scaled_2") == "scale.by-d");  // Q and scores by √4
  work["scaled_1"] = "0.5,1\n0,0.5\n";  // half of what is right, as in scaled_2
  CHECK(checked(shared, work).first_wrong == "Q");
  CHECK(verdicts(checked(shared, work), "scaled_1") == "aa ca");
}

TEST_CASE("a window that is forgotten under a causal mask has a name of its own") {
  const Task window(R"(
title = "A window of one key"
[[given]]
name = "S"
value = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
[[step]]
name = "masked"
op = "mask"
of = ["S"]
kind = "sliding_window"
width = 1
)");
  const auto report = checked(window, {{"masked", "1,-inf,-inf\n4,5,-inf\n7,8,9\n"}});
  CHECK(mistakes(report, "masked") == "window.skipped");
}

TEST_CASE("of mistakes that make the same numbers the one of this step is named first") {
  const Task shared(R"(
title = "Two heads of queries for each of keys"
[[given]]
name = "X"
value = [[1, 0], [0, 1]]
[[given]]
name = "Q"
value = [[[1, 0]], [[0, 1]], [[1, 1]], [[2, 1]]]
[[given]]
name = "W_K"
value = [[[1, 2], [3, 4]], [[5, 6], [7, 9]]]
[[step]]
of = ["X", "W_K"]
op = "project"
name = "K"
[[step]]
of = ["Q", "K"]
op = "score"
name = "scores"
)");
  Submission work = submission_of({{"scores", "0,0\n"}}, shared.trace);
  const std::vector<double> by_first_keys = {1, 3, 2, 4, 3, 7, 4, 10};
  work.files[0].written = array_of_values({4, 1, 2}, by_first_keys, Precision::float64);
  const auto report = check_submission(shared.lesson, shared.trace, work, {});
  CHECK_THAT(mistakes(report, "scores"), Catch::StartsWith("gqa.first-only"));
}

const std::string looked_up = R"(
title = "Looked up"
[[given]]
name = "ids"
value = "0 1 1"
[[given]]
name = "table"
value = [[1, 2], [3, 4]]
[[step]]
name = "E"
op = "embed"
of = ["ids", "table"]
[[step]]
name = "Y"
op = "add"
of = ["E", "E"]
)";

TEST_CASE("an id that no table has costs its cells, not the submission") {
  const Task task(looked_up);
  for (const char* id : {"2", "-1", "1000000", "1e19", "0.5", "-1e9", "inf"}) {
    INFO(id);
    const auto report = checked(
        task,
        {{"ids", std::string("0,1,") + id}, {"E", "1,2\n9,9\n3,4\n"}, {"Y", "2,4\n18,18\n6,8\n"}});
    CHECK(report.first_wrong == "ids");
    CHECK(verdicts(report, "E") == "cc ww cc");
    CHECK(verdicts(report, "Y") == "cc aa cc");
  }
}

TEST_CASE("a convention costs no marks") {
  const auto report = checked(two_words(), {{"Q", "3.536,1.414\n3.536,0.707\n"},
                                            {"K", "0.5,1.6\n1.5,3.3\n"},
                                            {"V", "4,10\n7,5\n"},
                                            {"scores", "4.031,9.970\n2.899,7.637\n"},
                                            {"scaled_scores", "4.031,9.970\n2.899,7.637\n"},
                                            {"masked_scores", "4.031,-inf\n2.899,7.637\n"},
                                            {"attention_weights", "1,0\n0.009,0.991\n"},
                                            {"context", "4,10\n6.973,5.045\n"}});
  CHECK(report.outcome == Outcome::correct);
  const Marks marks = Rubric(two_words().lesson, two_words().trace).of(report);
  CHECK(marks.total.marks == marks.total.of);
  for (const StepMarks& step : marks.steps) CHECK(step.marks == step.of);
}

TEST_CASE("what would leave a number as it is explains nothing") {
  // Two units off, after scores that were not handed in: no key was hidden here.
  CHECK(
      mistakes(checked(two_words(), {{"scaled_scores", "4.05,9.97\n2.90,7.64\n"}}), "scaled_scores")
          .find("mask.") == std::string::npos);
}

TEST_CASE("what was computed from a gradient is not tried as its operand") {
  // d_V_1 is drawn at random, and its step can be multiplied by matrices that hold -inf.
  std::string toml = "title = \"t\"\n";
  const auto given = [&](std::string_view name, std::string_view value) {
    toml += fmt::format("[[given]]\nname = \"{}\"\nvalue = {}\n", name, value);
  };
  const auto step = [&](std::string_view name, std::string_view op, std::string_view of,
                        std::string_view more = "") {
    toml +=
        fmt::format("[[step]]\nname = \"{}\"\nop = \"{}\"\nof = [{}]\n{}\n", name, op, of, more);
  };
  given("X", "[[-2, 0, 3], [2, 0, -2], [1, 3, 0], [1, 2, -2]]");
  given("W_Q", "[[-1, 3, -2, -2], [-1, 1, -2, 0], [-1, 2, 2, -2]]");
  given("W_K", "[[0, 3, 0, 1], [1, 1, -1, 3], [2, 2, 3, 2]]");
  given("W_V", "[[1, 3, 3, -1], [-2, 3, 2, 0], [2, 1, 3, -2]]");
  given("W_O", "[[0, 0, -2], [0, 2, -2], [-1, 1, 1], [-2, -1, -2]]");
  given("W_logits", "[[-1, -2, -2], [2, 3, 1], [2, 3, 1]]");
  given("targets", "[0, 2, 0, 1]");
  step("Q", "project", R"("X", "W_Q")");
  step("K", "project", R"("X", "W_K")");
  step("V", "project", R"("X", "W_V")");
  step("scores", "score", R"("Q", "K")");
  step("scaled_scores", "scale", R"("scores")");
  step("masked_scores", "mask", R"("scaled_scores")", "kind = \"causal\"");
  step("S_1", "take", R"("masked_scores")", "columns = [1, 2]");
  step("V_1", "take", R"("V")", "rows = [1, 2]");
  step("m_1", "running_max", R"("S_1")");
  step("P_1", "tile_weights", R"("S_1", "m_1")");
  step("l_1", "running_sum", R"("P_1")");
  step("O_1", "running_output", R"("P_1", "V_1")");
  step("S_2", "take", R"("masked_scores")", "columns = [3, 4]");
  step("V_2", "take", R"("V")", "rows = [3, 4]");
  step("m_2", "running_max", R"("m_1", "S_2")");
  step("P_2", "tile_weights", R"("S_2", "m_2")");
  step("l_2", "running_sum", R"("l_1", "m_1", "m_2", "P_2")");
  step("O_2", "running_output", R"("O_1", "m_1", "m_2", "P_2", "V_2")");
  step("context", "normalise", R"("O_2", "l_2")");
  step("output", "project", R"("context", "W_O")");
  step("residual", "add", R"("X", "output")");
  step("logits", "project", R"("residual", "W_logits")");
  step("loss", "cross_entropy", R"("logits", "targets")", "reduction = \"sum\"");
  const Task task(toml + "[backward]\nof = \"loss\"\n");
  Submission work = submission_of({{"d_Q", "0"}, {"d_V_1", "0"}}, task.trace);
  const Values right = task.trace.at("d_Q").values;
  for (SubmittedFile& file : work.files) {
    const bool is_random = file.name == "d_V_1";
    file.written =
        is_random ? array_of_values({2, 4},
                                    std::vector{0.12573022, -0.13210486, 0.64042265, 0.10490012,
                                                -0.53566937, 0.36159505, 1.30400005, 0.94708096},
                                    Precision::float64)
                  : array_of_values({4, 4}, right, Precision::float64);
  }
  const CheckReport report = check_submission(task.lesson, task.trace, work, {});
  CHECK(report.first_wrong == "d_V_1");
  CHECK(mistakes(report, "d_V_1").find("backward.wrong-operand") == std::string::npos);
}

TEST_CASE("exact short numbers beside finer ones are no half precision") {
  // P = A0 + 0.004, where the numbers of A0 end at 1/16; the last dump is P in bfloat16.
  const Task task(
      "title = \"t\"\n[[given]]\nname = \"X\"\nvalue = [[1, 0], [0, 1], [1, 1]]\n"
      "[[given]]\nname = \"A\"\nvalue = [[0.0665, 0.8165], [0.4415, 1.004]]\n"
      "[[step]]\nname = \"P\"\nop = \"matmul\"\nof = [\"X\", \"A\"]\n"
      "[[step]]\nname = \"R\"\nop = \"scale\"\nof = [\"X\"]\nby = 3\n");
  Submission work = submission_of({{"P", "0,0\n0,0\n0,0\n"}, {"R", "0,0\n0,0\n0,0\n"}}, task.trace);
  const auto is_right = [&](std::vector<double> numbers) {
    const double third = 1.0 / 3;
    work.files[0].written = array_of_values({3, 2}, std::move(numbers), Precision::float64);
    work.files[1].written = array_of_values({3, 2}, std::vector{third, 0., 0., third, third, third},
                                            Precision::float64);
    return !check_submission(task.lesson, task.trace, work, {}).first_wrong;
  };
  CHECK(!is_right({0.0625, 0.8125, 0.4375, 1, 0.5, 1.8125}));
  CHECK(is_right({0.06640625, 0.81640625, 0.44140625, 1.0078125, 0.5078125, 1.8203125}));
}

TEST_CASE("files whose right numbers are nearly the same were not exchanged") {
  const Task task(
      "title = \"t\"\n[[given]]\nname = \"X\"\nvalue = [[1, 0], [0, 1]]\n"
      "[[given]]\nname = \"A\"\nvalue = [[0.31, 0.52], [0.73, 0.94]]\n"
      "[[given]]\nname = \"B\"\nvalue = [[0.31, 0.52], [0.73, 0.95]]\n"
      "[[step]]\nname = \"P\"\nop = \"matmul\"\nof = [\"X\", \"A\"]\n"
      "[[step]]\nname = \"R\"\nop = \"matmul\"\nof = [\"X\", \"B\"]\n");
  const auto report =
      checked(task, {{"P", "0.34,0.49\n0.70,0.97\n"}, {"R", "0.28,0.55\n0.76,0.92\n"}});
  CHECK(mistakes(report, "P").find("slip.files-exchanged") == std::string::npos);
}

TEST_CASE("queries were not scaled where scaled_scores are scores over the root") {
  const Task task(
      "title = \"t\"\n[[given]]\nname = \"X\"\nvalue = [[1]]\n"
      "[[given]]\nname = \"W_Q\"\nvalue = [[1, 0.44]]\n"
      "[[given]]\nname = \"K\"\nvalue = [[0.25, 0], [0.8, 0.3], [-0.1, -0.1], [-0.3, 0.2]]\n"
      "[[step]]\nname = \"Q\"\nop = \"project\"\nof = [\"X\", \"W_Q\"]\n"
      "[[step]]\nname = \"scores\"\nop = \"score\"\nof = [\"Q\", \"K\"]\n"
      "[[step]]\nname = \"scaled_scores\"\nop = \"scale\"\nof = [\"scores\"]\n");
  CHECK(checked(task, {{"Q", "0.8,0.2\n"},
                       {"scores", "0.2,0.7,-0.1,-0.2\n"},
                       {"scaled_scores", "0.1,0.5,0.0,-0.2\n"}})
            .first_wrong == "Q");
}

}  // namespace

}  // namespace check_unfooled_tests
