#include <catch2/catch.hpp>

#include "check/judge/room.hpp"
#include "check/submissions.hpp"
#include "check/tolerance/cell_tolerance.hpp"
#include "formats/arrays/dtype.hpp"

namespace check_missing_steps_tests {

/// How a program's arrays tell that they were rounded before they were saved, and what that is
/// worth. The two words by hand stand in verdicts.cpp.
namespace {

using namespace qkv;
using namespace qkv::test;

using Arrays = std::map<std::string, std::vector<double>>;

CheckReport checked_arrays(const Arrays& arrays, const Shape& shape = {2, 2},
                           const Task& task = two_words()) {
  Texts texts;
  for (const auto& [name, numbers] : arrays) texts[name] = "0,0\n0,0\n";
  Submission work = submission_of(texts, task.trace);
  for (SubmittedFile& file : work.files) {
    file.written = array_of_values(shape, arrays.at(file.name), Precision::float64);
  }
  return check_submission(task.lesson, task.trace, work, {});
}

TEST_CASE("a lone digit was rounded where the other matrices were, or where it is what is due") {
  const std::vector<double> truncated = {1, 0, 0, 0.9};  // of 0.9913
  CHECK(verdicts(checked_arrays({{"attention_weights", truncated}}), "attention_weights") ==
        "cc ww");
  CHECK(verdicts(
            checked_arrays({{"scores", {5.7, 14.1, 4.1, 10.8}}, {"attention_weights", truncated}}),
            "attention_weights") == "cc cc");
  // The arrays alone say no more than one decimal; two are what is due.
  CHECK(verdicts(checked_arrays({{"scaled_scores", {4, 9.97, 2.9, 7.6}}}), "scaled_scores") ==
        "wc cw");
}

TEST_CASE("one decimal in each of several matrices shows that all were rounded") {
  // Truncated from 0.9913, and from 6.974 and 5.043.
  const Arrays arrays = {{"attention_weights", {1, 0, 0, 0.9}}, {"context", {4, 10, 6.9, 5}}};
  CHECK(verdicts(checked_arrays(arrays), "attention_weights") == "cc cc");
  CHECK(verdicts(checked_arrays(arrays), "context") == "cc cc");
}

constexpr std::string_view with_large_scores = R"(
title = 't'
summary = 's'
source = 'by hand'
[[given]]
name = 'X'
value = [[1.23456789], [2.3456789]]
[[given]]
name = 'W_K'
value = [[1.1]]
[[given]]
name = 'W_V'
value = [[0.7]]
[[given]]
name = 'Q'
value = [[300.1234], [200.4321]]
[[step]]
name = 'K'
op = 'project'
of = ['X', 'W_K']
[[step]]
name = 'V'
op = 'project'
of = ['X', 'W_V']
[[step]]
name = 'scores'
op = 'score'
of = ['Q', 'K']
)";

TEST_CASE("numbers too large for their decimals in float32 follow from rounded ones") {
  const Task task{std::string(with_large_scores)};
  // By NumPy, from keys of 1.3580 and 2.5802, which are missing. In full 407.57498 is right.
  const Arrays arrays = {{"V", {0.8642, 1.6420}},
                         {"scores", {407.5676, 774.3784, 272.1868, 517.1549}}};
  Submission work = submission_of({{"V", "0\n0\n"}, {"scores", "0,0\n0,0\n"}}, task.trace);
  for (SubmittedFile& file : work.files) {
    std::vector<double> numbers = arrays.at(file.name);
    for (double& x : numbers) x = static_cast<float>(x);
    file.written = array_of_values({2, numbers.size() / 2}, numbers, Precision::float32);
  }
  CHECK(verdicts(check_submission(task.lesson, task.trace, work, {}), "scores") == "rr rr");
}

TEST_CASE("steps that were not handed in were rounded as what was handed in") {
  // Scaled scores of 4.0, 10.0, 2.9, 7.6 on the way: e^(2.9 - 7.6) / (1 + e^(2.9 - 7.6)) =
  // 0.009013. From the numbers in full it is 0.008691.
  const std::vector<double> in_full = {1, 0, 0.009013298652847822, 0.9909867013471522};
  const Arrays alone = {{"attention_weights", in_full}};
  CHECK(verdicts(checked_arrays(alone), "attention_weights") == "cc ww");
  // A program that prints all the digits of its weights has rounded nothing.
  const Arrays with_keys = {{"K", {0.5, 1.6, 1.5, 3.3}}, {"attention_weights", in_full}};
  CHECK(verdicts(checked_arrays(with_keys), "attention_weights") == "cc ww");
}

// Right: scaled scores 4.0305, 9.9702, 2.8991, 7.6368; weights 1, 0, 0.008683, 0.991317.
const std::vector<double> weights_in_full = {1, 0, 0.008683446204339852, 0.9913165537956602};

TEST_CASE("one matrix with all its digits shows that the program rounds nothing") {
  const std::vector<double> near = {4.04, 9.97, 2.9, 7.64};
  CHECK(verdicts(checked_arrays({{"scaled_scores", near}}), "scaled_scores") == "cc cc");
  CHECK(verdicts(checked_arrays({{"scaled_scores", near}, {"attention_weights", weights_in_full}}),
                 "scaled_scores") == "ww ww");
  // A given counts, too.
  CHECK(
      verdicts(checked_arrays({{"scaled_scores", near}, {"W_K", {0.5, 1, 0, 0.3333333333333333}}}),
               "scaled_scores") == "ww ww");
}

TEST_CASE("a round number that is not due is no rounding") {
  // Keys are 0.5, 1.6, 1.5, 3.3 exactly: 0.1 or 0.01 more is no rounding of them.
  CHECK(verdicts(checked_arrays({{"K", {0.6, 1.7, 1.6, 3.4}}}), "K") == "ww ww");
  CHECK(verdicts(checked_arrays({{"K", {0.51, 1.61, 1.51, 3.31}}}), "K") == "ww ww");
  CHECK(verdicts(checked_arrays(
                     {{"K", {0.51, 1.61, 1.51, 3.31}}, {"scaled_scores", {4.03, 9.97, 2.9, 7.64}}}),
                 "K") == "ww ww");
}

TEST_CASE("halves and quarters are no rounding") {
  CHECK(verdicts(checked_arrays({{"attention_weights", {1, 0, 0.25, 0.75}}}),
                 "attention_weights") == "cc ww");
  CHECK(verdicts(checked_arrays({{"attention_weights", {1, 0, 0.0, 1.0}}}), "attention_weights") ==
        "cc ww");
}

TEST_CASE("whole numbers are rounded where the whole submission is") {
  CHECK(verdicts(checked_arrays({{"scaled_scores", {4.03, 9.97, 2.9, 7.64}},
                                 {"attention_weights", {1, 0, 0.01, 0.99}},
                                 {"context", {4, 10, 8, 5}}}),
                 "context") == "cc wr");  // 6.97 and 5.04 are right
  CHECK(verdicts(checked_arrays({{"scaled_scores", {4.0, 10.0, 2.9, 7.6}},
                                 {"attention_weights", {1, 0, 0, 1}}}),
                 "attention_weights") == "cc cc");
}

TEST_CASE("a type holds what it need not round") {
  CHECK(is_held(0.15625, Precision::bfloat16));  // 5 / 32
  CHECK(!is_held(257, Precision::bfloat16));     // 9 bits
  CHECK(is_held(257, Precision::float16));
  CHECK(!is_held(0.1, Precision::float32));
  CHECK(is_held(0.1, Precision::float64));
}

constexpr std::string_view head = "title = 't'\nsummary = 's'\nsource = 'by hand'\n";

const std::string with_batch = std::string(head) + R"(
[[given]]
name = 'E'
value = [[[1, 2], [3, 4]], [[0, 1], [2, 2]]]
[[given]]
name = 'P'
value = [[1, 0], [0, 1]]
[[given]]
name = 'W'
value = [[1, 2], [0, 1]]
[[step]]
name = 'X'
op = 'add'
of = ['E', 'P']
[[step]]
name = 'Y'
op = 'project'
of = ['X', 'W']
)";

TEST_CASE("positions of one sentence are added behind the weight in each of a batch") {
  // E·W + P: [[1, 4], [3, 10]] + P and [[0, 1], [2, 6]] + P.
  const Task task(with_batch);
  const auto report = checked_arrays({{"Y", {2, 4, 3, 11, 1, 1, 2, 7}}}, {2, 2, 2}, task);
  CHECK(report.first_wrong == "Y");
  CHECK(mistakes(report, "Y") == "add.early");
}

const std::string with_a_mask_each = std::string(head) + R"(
[[given]]
name = 'S'
value = [[0, 0], [0, 0]]
[[given]]
name = 'M'
value = [[[1, 0], [1, 1]], [[1, 1], [0, 1]]]
[[step]]
name = 'masked_scores'
op = 'mask'
of = ['S', 'M']
kind = 'given'
[[step]]
name = 'attention_weights'
op = 'softmax'
of = ['masked_scores']
)";

TEST_CASE("weights of one matrix zeroed by a mask for each head are named") {
  const Task task(with_a_mask_each);
  const std::vector<double> zeroed = {0.5, 0, 0.5, 0.5, 0.5, 0.5, 0, 0.5};
  const auto report = checked_arrays({{"attention_weights", zeroed}}, {2, 2, 2}, task);
  CHECK(mistakes(report, "attention_weights") == "softmax.mask-after");
}

// X·W = 0.1333 and Y·V = 1.333. A Y that is rounded to one decimal is off by 0.1 at most, and Z by
// 1 more: 1.1 in all.
std::string with_a_step_between(std::string_view v) {
  return std::string(head) + R"(
[[given]]
name = 'X'
value = [[0.1, 0.2]]
[[given]]
name = 'W'
value = [[0.333], [0.5]]
[[given]]
name = 'V'
value = [[)" +
         std::string(v) + R"(]]
[[step]]
name = 'Y'
op = 'matmul'
of = ['X', 'W']
[[step]]
name = 'Z'
op = 'matmul'
of = ['Y', 'V']
)";
}

TEST_CASE("a missing step leaves room for its rounding, and too much room decides nothing") {
  static const Task task(with_a_step_between("10"));
  const auto z = [&](const std::string& number) {
    return verdicts(checked(task, {{"Z", number + "\n"}}), "Z");
  };
  CHECK(z("1.4") == "c");
  CHECK(z("2.0") == "u");  // from a Y of 0.2
  CHECK(z("2.5") == "w");
  CHECK(z("0.0") == "w");
  const auto report = checked(task, {{"Z", "2.0\n"}});
  CHECK(report.outcome == Outcome::undecided);
  CHECK(report.steps.front().room == Approx(1.1));
  CHECK(report.steps.front().decided_by == std::vector<std::string>{"Y"});
}

TEST_CASE("the missing step that decides is submitted, and the cell is wrong") {
  static const Task task(with_a_step_between("10"));
  const auto report = checked(task, {{"Y", "0.1\n"}, {"Z", "2.2\n"}});
  CHECK(verdicts(report, "Z") == "w");  // 0.1 · 10 = 1, and 1 + 1 + 0.1 < 2.2
  CHECK(verdicts(checked(task, {{"Y", "0.1\n"}, {"Z", "1.0\n"}}), "Z") == "r");
}

TEST_CASE("the tolerance of a report is the one that was used") {
  static const Task task(with_a_step_between("0.5"));  // Z = 0.06665; of Y at most 0.05 more
  const auto report = checked(task, {{"Z", "0.2\n"}});
  CHECK(verdicts(report, "Z") == "r");
  CHECK(report.steps.front().tolerance == Approx(0.15));
  CHECK(report.steps.front().unit == Approx(0.1));
  // A wrong cell was held to the same.
  const auto wrong = checked(task, {{"Z", "0.3\n"}});
  CHECK(verdicts(wrong, "Z") == "w");
  CHECK(wrong.steps.front().tolerance == Approx(0.15));
  // 1.0 = 0.1 · 10 follows from the Y that was submitted, and is 0.332 from 0.1332 · 10.
  static const Task by_ten(with_a_step_between("10"));
  const auto follows = checked(by_ten, {{"Y", "0.1\n"}, {"Z", "1.0\n"}});
  CHECK(verdicts(follows, "Z") == "r");
  CHECK(follows.steps.back().tolerance == Approx(0.333));
  // A room that decides nothing held no wrong cell.
  const auto far_off = checked(by_ten, {{"Z", "5.0\n"}});
  CHECK(verdicts(far_off, "Z") == "w");
  CHECK(far_off.steps.front().tolerance == Approx(0.1));
}

// P = A + B = -11.647, 0.544, 123.4, of three digits -11.6, 0.544, 123; half of them; and of the
// true ones.
TEST_CASE("numbers of three digits in e-notation follow from a missing step of three digits") {
  const Task task(
      "title = \"t\"\n[[given]]\nname = \"A\"\nvalue = [[-11.6, 0.5, 120]]\n"
      "[[given]]\nname = \"B\"\nvalue = [[-0.047, 0.044, 3.4]]\n"
      "[[step]]\nname = \"P\"\nop = \"add\"\nof = [\"A\", \"B\"]\n"
      "[[step]]\nname = \"S\"\nop = \"scale\"\nof = [\"P\"]\nby = 2\n");
  CHECK(verdicts(checked(task, {{"S", "-5.80e+00,2.72e-01,6.15e+01"}}), "S") == "rcr");
  CHECK(verdicts(checked(task, {{"S", "-5.82e+00,2.72e-01,6.17e+01"}}), "S") == "ccc");
  CHECK(verdicts(checked(task, {{"S", "-5.70e+00,2.72e-01,6.05e+01"}}), "S") == "wcw");
}

TEST_CASE("files that were exchanged do not make later numbers wrong") {
  // Q·Kᵀ of the lesson is right, though Q and K stand under each other's name.
  const auto& task = two_words();
  const Texts right = {{"Q", csv_of(task.trace.at("K"), 1)},
                       {"K", csv_of(task.trace.at("Q"), 1)},
                       {"scores", csv_of(task.trace.at("scores"), 1)}};
  const auto report = checked(task, right);
  CHECK(report.first_wrong == "Q");
  const std::string scores = verdicts(report, "scores");
  CHECK(scores.find('w') == std::string::npos);
}

TEST_CASE("a room of three units, or of a tenth of the numbers, decides") {
  CHECK_FALSE(is_too_wide(0.3, 0.1, 2));
  CHECK(is_too_wide(0.31, 0.1, 2));
  CHECK_FALSE(is_too_wide(0.31, 0.1, 3.1));
  CHECK(is_too_wide(0.31, 0.1, 3));
}

TEST_CASE("typical numbers are the root mean square of those that are not hidden") {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor truth{
      .axes = {{.name = "head", .size = 2}, {.name = "", .size = 1}, {.name = "", .size = 3}},
      .values = {3, -4, -infinity, -infinity, -infinity, -infinity}};
  const std::vector<double> typical = typical_numbers({.name = "Y", .truth = &truth});
  REQUIRE(typical.size() == 2);
  CHECK(typical[0] == Approx(3.5355339));  // of 9 and 16
  CHECK(typical[1] == 0);
}

// Y is √2 in 64 cells, and Z adds 38 of them and subtracts 26: 16.97. By NumPy, from SplitMix64 of
// (trial << 52) ^ (2 << 36) ^ cell, 32 trials move Z by 0.5234 in the root mean square, if each
// cell of Y moves within 0.1. Bounds would allow 6.4.
TEST_CASE("missing steps leave four times what 32 trials move a cell by") {
  std::string a = "[[";
  std::string v = "[";
  for (int i = 0; i < 64; ++i) {
    a += i < 63 ? "2, " : "2]]";
    v += i < 38 ? "[1], " : i < 63 ? "[-1], " : "[-1]]";
  }
  const Task task(std::string(head) + "[[given]]\nname = 'A'\nvalue = " + a +
                  "\n[[given]]\nname = 'V'\nvalue = " + v + R"(
[[step]]
name = 'Y'
op = 'sqrt'
of = ['A']
[[step]]
name = 'Z'
op = 'matmul'
of = ['Y', 'V']
)");
  const auto report = checked(task, {{"Z", "18.5\n"}});
  CHECK(verdicts(report, "Z") == "u");
  CHECK(report.steps.front().room == Approx(0.1 + 2.09342).epsilon(1e-5));
  CHECK(verdicts(checked(task, {{"Z", "19.2\n"}}), "Z") == "w");
  // Numbers of Y that are there leave what their units allow: 64 times 0.1 around 12 times 1.4.
  std::string y = "1.4";
  for (int i = 1; i < 64; ++i) y += ",1.4";
  const auto with_y = checked(task, {{"Y", y + "\n"}, {"Z", "22.0\n"}});
  CHECK(verdicts(with_y, "Z") == "u");
  CHECK(with_y.steps.back().room == Approx(6.5));
}

TEST_CASE("a wrong number among 2,048 is found where only cells have bounds") {
  const Task task(std::string(head) + R"(
[[given]]
name = 'A'
ones = [64, 32]
[[step]]
name = 'Y'
op = 'multiply'
of = ['A', 'A']
)");
  std::vector<double> numbers(2048, 1);
  numbers[1000] = 1.5;
  Submission work = submission_of({{"Y", csv_of(task.trace.at("Y"), 0)}}, task.trace);
  work.files[0].written = array_of_values({64, 32}, numbers, Precision::float32);
  const auto report = check_submission(task.lesson, task.trace, work, {});
  CHECK(report.steps.front().cells.wrong == 1);
  CHECK(report.steps.front().cells.correct == 2047);
}

TEST_CASE("a given that was copied rounded may have been used in full in some places") {
  static const Task task(std::string(head) + R"(
[[given]]
name = 'X'
value = [[0.3333, 0.6667]]
[[given]]
name = 'W'
value = [[10], [10]]
[[step]]
name = 'Y'
op = 'matmul'
of = ['X', 'W']
)");
  const auto y = [&](const std::string& number) {
    return verdicts(checked(task, {{"X", "0.33,0.67\n"}, {"Y", number + "\n"}}), "Y");
  };
  CHECK(y("10.000") == "c");  // all in full
  CHECK(y("9.967") == "r");   // 0.33 and 0.6667
  CHECK(y("10.033") == "r");  // 0.3333 and 0.67
  CHECK(y("10.050") == "w");
  CHECK(y("9.950") == "w");
}

// Each of the two sums is of a large product, whose rounding by 0.1 moves it by 10, and of a small
// one. The first head's numbers are large enough for that, the second head's are not.
TEST_CASE("the one missing step that decides is named, whichever head is undecided") {
  static const Task task(std::string(head) + R"(
[[given]]
name = 'A'
value = [[[90.123]], [[0.523]]]
[[given]]
name = 'B'
value = [[[1.111]], [[1.111]]]
[[given]]
name = 'C'
value = [[[0.777]], [[0.777]]]
[[given]]
name = 'ten'
value = [[10, 10]]
[[step]]
name = 'small'
op = 'multiply'
of = ['A', 'C']
[[step]]
name = 'large'
op = 'multiply'
of = ['A', 'B']
[[step]]
name = 'tens'
op = 'matmul'
of = ['large', 'ten']
[[step]]
name = 'sum'
op = 'add'
of = ['tens', 'small']
)");
  // By NumPy: the sums are 1071.292 and 6.217, each twice.
  Submission work = submission_of({{"sum", "0,0\n"}}, task.trace);
  work.files[0].written.shape = {2, 1, 2};
  work.files[0].written.cells = {};
  for (const double x : {1071.9, 1071.9, 7.1, 7.1}) {
    work.files[0].written.cells.to_write().push_back({.value = x, .decimals = 1});
  }
  const CheckReport report = check_submission(task.lesson, task.trace, work, {});
  CHECK(verdicts(report, "sum") == "rr uu");
  CHECK(report.steps.front().decided_by == std::vector<std::string>{"tens"});
}

// By NumPy: Y is 104.1, 300.2 and Z half of that.
TEST_CASE("a number that the lesson's operands allow is wrong where the learner's do not") {
  static const Task task(std::string(head) + R"(
[[given]]
name = 'A'
value = [[10836.8, 90120]]
[[step]]
name = 'Y'
op = 'sqrt'
of = ['A']
[[step]]
name = 'Z'
op = 'scale'
of = ['Y']
by = 2
)");
  const auto z = [&](const std::string& numbers) {
    return verdicts(checked(task, {{"Y", "1.0e2,3.0e2\n"}, {"Z", numbers + "\n"}}), "Z");
  };
  CHECK(z("54.90,150.00") == "rr");  // half of 100 and 10 at most
  CHECK(z("56.00,150.00") == "wr");  // half of 104.1 and 10 would allow it
}

TEST_CASE("a product with as many decimals as its matrix is exact, whatever its operands have") {
  const Task task(R"(
title = "Scaled, then multiplied"
[[given]]
name = "scores"
value = [[30, 52]]
[[given]]
name = "V"
value = [[-2, 2], [1, 4]]
[[step]]
name = "scaled_scores"
op = "scale"
of = ["scores"]
by = 8
[[step]]
name = "M"
op = "matmul"
of = ["scaled_scores", "V"]
)");
  const auto m = [&](const std::string& numbers) {
    const Texts texts = {{"scaled_scores", "3.750,6.500\n"}, {"M", numbers + "\n"}};
    return verdicts(checked(task, texts), "M");
  };
  CHECK(m("-1.0,33.5") == "cc");  // -7.5 + 6.5, 7.5 + 26
  CHECK(m("-0.9,33.6") == "ww");
}

TEST_CASE("a right number with digits of its own end is exact for what follows") {
  const Texts texts = {{"K", "0.500001,1.6\n1.5,3.3\n"}, {"scores", "5.8,14.1\n4.1,10.8\n"}};
  CHECK(verdicts(checked(two_words(), texts), "scores") == "wc cc");
}

TEST_CASE("a missing step is rounded to the decimals, however large what follows from it is") {
  static const Task task(R"(
title = "Large numbers"
[[given]]
name = "X"
value = [[200]]
[[step]]
name = "D"
op = "scale"
of = ["X"]
by = 3
[[step]]
name = "C"
op = "matmul"
of = ["D", "D"]
)");
  const auto c = [&](const std::string& number) {
    return verdicts(checked(task, {{"C", number + "\n"}}), "C");
  };
  CHECK(c("4444.4489") == "r");  // 66.6667 · 66.6667
  CHECK(c("4444.7444") == "w");  // a millionth of C as the unit of D would allow it
}

TEST_CASE("a mistake that changes no number explains no last digit") {
  static const Task task(R"(
title = "Scores that are hidden"
[[given]]
name = "Q"
value = [[-1.23], [1.14], [0.29]]
[[given]]
name = "K"
value = [[2.13], [1.07], [-0.81]]
[[step]]
name = "scores"
op = "score"
of = ["Q", "K"]
[[step]]
name = "masked_scores"
op = "mask"
of = ["scores"]
kind = "causal"
)");
  // 0.29 · 2.13 is 0.6177, as a double a little less.
  const Texts texts = {
      {"masked_scores", "-2.6199,-inf,-inf\n2.4282,1.2198,-inf\n0.6176,0.3103,-0.2349\n"}};
  const CheckReport report = checked(task, texts);
  CHECK(verdicts(report, "masked_scores") == "ccc ccc wcc");
  CHECK(report.find("masked_scores")->mistakes.empty());
}

TEST_CASE("a mistake in a missing step is found among numbers that were rounded after it") {
  static const Task task(R"(
title = "Queries by the other weight"
[[given]]
name = "X"
value = [[-2.5, 1.7, -1.9], [1.2, -2.8, -2.9], [0.8, 0.4, 2.6], [2.4, 2.6, 1.4]]
[[given]]
name = "W_Q"
value = [[0.6, -0.6], [-0.9, 0.4], [-1.3, -0.9]]
[[given]]
name = "W_K"
value = [[1.1, 0.4], [-0.3, 1.6], [0.3, 0.8]]
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
)");
  // X · W_K, rounded to two decimals, times X · W_K.
  const Texts texts = {{"scores",
                        "14.59,-6.17,-5.24,-7.42\n-6.24,41.49,-17.15,-36.35\n"
                        "-5.30,-16.97,11.49,22.23\n-7.49,-36.24,22.36,43.89\n"}};
  const CheckReport report = checked(task, texts);
  CHECK(contains(report.find("scores")->mistakes, "project.wrong-weight", &Diagnosis::id));
}

}  // namespace

}  // namespace check_missing_steps_tests
