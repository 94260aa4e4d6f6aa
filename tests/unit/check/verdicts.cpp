#include <catch2/catch.hpp>

#include "check/submissions.hpp"
#include "formats/arrays/dtype.hpp"

namespace check_verdicts_tests {

/// Two words by hand (checked with NumPy):
///   Q = 5 2    K = 0.5 1.6    V = 4 10    scores = 5.7 14.1    scaled_scores = 4.0305 9.9702
///       5 1        1.5 3.3        7  5             4.1 10.8                    2.8991 7.6368
///   attention_weights = 1      0         context = 4      10
///                       0.0087 0.9913              6.9739  5.0434

namespace {

using namespace qkv;
using namespace qkv::test;

CheckReport check_two_words(const Texts& texts, const CheckOptions& options = {}) {
  return checked(two_words(), texts, options);
}

std::string convention_of(const CheckReport& report, std::string_view step) {
  for (const StepReport& one : report.steps) {
    if (one.step == step)
      return std::string(one.accepted_convention.empty() ? "none" : one.accepted_convention);
  }
  return "not listed";
}

double unit_of(const CheckReport& report) { return report.steps.front().unit; }

TEST_CASE("rounded and truncated numbers are both correct") {
  CHECK(verdicts(check_two_words({{"scaled_scores", "4.03,9.97\n2.90,7.64\n"}}), "scaled_scores") ==
        "cc cc");
  CHECK(verdicts(check_two_words({{"scaled_scores", "4.03,9.97\n2.89,7.63\n"}}), "scaled_scores") ==
        "cc cc");
}

TEST_CASE("a number two units off is wrong where nothing before it was rounded") {
  const auto report = check_two_words({{"scores", "5.7000,14.1000\n4.1000,10.8000\n"},
                                       {"scaled_scores", "4.05,9.97\n2.90,7.64\n"}});
  CHECK(verdicts(report, "scaled_scores") == "wc cc");
  CHECK(report.first_wrong == "scaled_scores");
}

TEST_CASE("the same number is rounding where the scores before it were rounded coarsely") {
  // 6 / √2 = 4.243, 14 / √2 = 9.899, 4 / √2 = 2.828, 11 / √2 = 7.778
  const auto report = check_two_words(
      {{"scores", "6e0,1.4e1\n4e0,1.1e1\n"}, {"scaled_scores", "4.24,9.90\n2.83,7.78\n"}});
  CHECK(verdicts(report, "scaled_scores") == "rr rr");
  CHECK(report.outcome == Outcome::incomplete);  // the other steps are not there
}

TEST_CASE("what follows from a slip is carried, not wrong") {
  const auto report = check_two_words({{"scaled_scores", "5.7,14.1\n4.1,10.8\n"},
                                       {"masked_scores", "5.7,-inf\n4.1,10.8\n"},
                                       {"attention_weights", "1.000,0.000\n0.001,0.999\n"},
                                       {"context", "4.000,10.000\n6.996,5.006\n"}});
  CHECK(report.first_wrong == "scaled_scores");
  CHECK(verdicts(report, "scaled_scores") == "ww ww");
  CHECK(mistakes(report, "scaled_scores") == "scale.skipped");
  CHECK(verdicts(report, "masked_scores") == "ac aa");
  CHECK(verdicts(report, "attention_weights") == "cc aa");
  CHECK(verdicts(report, "context") == "cc aa");
}

TEST_CASE("blank cells are not attempted, and leave the work incomplete") {
  const auto report = check_two_words({{"scaled_scores", "4.03,\n,7.64\n"}});
  CHECK(verdicts(report, "scaled_scores") == "cb bc");
  CHECK(report.outcome == Outcome::incomplete);
}

TEST_CASE("the unit is the most decimals of the matrix") {
  CHECK(unit_of(check_two_words({{"scaled_scores", "4,9.97\n2.9,7.637\n"}})) == Approx(0.001));
}

TEST_CASE("in e-notation each cell has its own unit") {
  CHECK(verdicts(check_two_words({{"scaled_scores", "4.03e0,9.97e0\n2.8e0,7.64e0\n"}}),
                 "scaled_scores") == "cc cc");
  CHECK(verdicts(check_two_words({{"scaled_scores", "4.03e0,9.97e0\n2.80e0,7.64e0\n"}}),
                 "scaled_scores") == "cc wc");
}

TEST_CASE("the last digit of a huge number is no excuse") {
  CHECK(verdicts(check_two_words({{"scaled_scores", "1e300,9.97e0\n2.90e0,7.64e0\n"}}),
                 "scaled_scores") == "wc cc");
  CHECK(verdicts(check_two_words({{"attention_weights", "1e1,1e1\n1e1,1e1\n"}}),
                 "attention_weights") == "ww ww");
}

TEST_CASE("one wild number does not excuse the others") {
  CHECK(verdicts(check_two_words({{"scaled_scores", "1000000000,9.97\n3.5,7.64\n"}}),
                 "scaled_scores") == "wc wc");
}

TEST_CASE("a wild number is explained within its own digits") {
  Submission work = submission_of({{"Q", "5,2\n5,1\n"}}, two_words().trace);
  const std::vector<double> wild = {5000.00048828125, 2, 5,
                                    1};  // as float32 holds 5.0000005 times 1000
  work.files[0].written = array_of_values({2, 2}, wild, Precision::float32);
  const CheckReport report = check_submission(two_words().lesson, two_words().trace, work, {});
  CHECK(verdicts(report, "Q") == "wc cc");
  CHECK(mistakes(report, "Q") == "slip.decimal-point");
}

TEST_CASE("a program's exact numbers with few decimals excuse nothing behind them") {
  Submission work =
      submission_of({{"K", "0,0\n0,0\n"}, {"scores", "0,0\n0,0\n"}}, two_words().trace);
  const std::vector<double> keys = {0.5, 1.6, 1.5, 3.3};
  const std::vector<double> scores = {5.75, 14.1, 4.1, 10.8};  // the first is 0.05 too much
  for (const Precision precision : {Precision::float32, Precision::float64}) {
    work.files[0].written = array_of_values({2, 2}, keys, precision);
    work.files[1].written = array_of_values({2, 2}, scores, precision);
    const CheckReport report = check_submission(two_words().lesson, two_words().trace, work, {});
    CHECK(verdicts(report, "K") == "cc cc");
    CHECK(verdicts(report, "scores") == "wc cc");
  }
}

TEST_CASE("whole numbers are exact where whole numbers are right") {
  CHECK(verdicts(check_two_words({{"V", "4,10\n7,6\n"}}), "V") == "cc cw");
}

TEST_CASE("whole numbers go by the other matrices where they are not right") {
  const Texts texts = {
      {"Q", "5,2\n5,1\n"}, {"K", "0.50,1.60\n1.50,3.30\n"}, {"scores", "6,15\n4,11\n"}};
  CHECK(verdicts(check_two_words(texts), "scores") == "ww ww");
}

TEST_CASE("who writes whole numbers only has rounded to whole numbers") {
  CHECK(verdicts(check_two_words({{"scores", "6,14\n4,11\n"}}), "scores") == "cc cc");
  CHECK(verdicts(check_two_words({{"scores", "10,14\n4,11\n"}}), "scores") == "wc cc");
}

TEST_CASE("--digits overrides what was written") {
  CHECK(verdicts(check_two_words({{"scaled_scores", "4.1,9.9\n2.8,7.7\n"}}, {.digits = 3}),
                 "scaled_scores") == "ww ww");
}

TEST_CASE("a unit is never finer than a millionth") {
  CHECK(unit_of(check_two_words({{"attention_weights", "1,0\n0.00868345123,0.99131655\n"}})) ==
        Approx(1e-6));
}

TEST_CASE(
    "a given that is copied right is not listed; a miscopied one is wrong, whatever its digits") {
  CHECK(verdicts(check_two_words({{"W_Q", "1,0\n2,1\n"}, {"V", "4,10\n7,5\n"}}), "W_Q") ==
        "not listed");
  const auto report = check_two_words({{"W_K", "0.6,1\n0,0.3\n"}});
  CHECK(verdicts(report, "W_K") == "wc cc");
}

TEST_CASE("later steps are worked from the miscopied given") {
  const auto report = check_two_words({{"W_Q", "1,0\n2,1.5\n"}, {"Q", "5,3\n5,1.5\n"}});
  CHECK(report.first_wrong == "W_Q");
  CHECK(verdicts(report, "Q") == "ca ca");
}

TEST_CASE("tokens as columns are accepted for the whole submission") {
  const Texts transposed = {{"Q", "5,5\n2,1\n"}, {"K", "0.5,1.5\n1.6,3.3\n"}};
  const auto report = check_two_words(transposed);
  CHECK(verdicts(report, "Q") == "cc cc");
  CHECK(convention_of(report, "Q") == "convention.columns");
  CHECK(verdicts(check_two_words(transposed, {.strict = true}), "Q") == "cw wc");
}

TEST_CASE("one square matrix shows tokens as columns beside a row that stands upright") {
  const Task task(R"(
title = 't'
summary = 's'
source = 'by hand'
[[given]]
name = 'X'
value = [[1, 2], [3, 4]]
[[given]]
name = 'v'
value = [[1, 2]]
[[given]]
name = 'W'
value = [[1, 3], [2, 0]]
[[step]]
name = 'Y'
op = 'project'
of = ['X', 'W']
[[step]]
name = 'r'
op = 'project'
of = ['v', 'W']
)");
  const auto report = checked(task, {{"Y", "5,11\n3,9\n"}, {"r", "5\n3\n"}});
  CHECK(verdicts(report, "Y") == "cc cc");
  CHECK(convention_of(report, "Y") == "convention.columns");
  CHECK(mistakes(checked(task, {{"Y", "5,11\n3,9\n"}, {"r", "5,3\n"}}), "Y") == "slip.transposed");
  CHECK(mistakes(checked(task, {{"Y", "5,11\n3,9\n"}}), "Y") == "slip.transposed");
}

TEST_CASE("one turned matrix among others is wrong") {
  const auto report =
      check_two_words({{"Q", "5,5\n2,1\n"}, {"K", "0.5,1.6\n1.5,3.3\n"}, {"V", "4,10\n7,5\n"}});
  CHECK(verdicts(report, "Q") == "cw wc");
  CHECK(mistakes(report, "Q") == "slip.transposed");
}

TEST_CASE("-1000 where minus infinity is due is a convention") {
  const Texts texts = {{"masked_scores", "4.03,-1000\n2.90,7.64\n"}};
  CHECK(verdicts(check_two_words(texts), "masked_scores") == "cc cc");
  CHECK(convention_of(check_two_words(texts), "masked_scores") == "convention.finite-mask");
  CHECK(verdicts(check_two_words(texts, {.strict = true}), "masked_scores") == "cw cc");
}

TEST_CASE("-999 is no mask") {
  CHECK(verdicts(check_two_words({{"masked_scores", "4.03,-999\n2.90,7.64\n"}}), "masked_scores") ==
        "cw cc");
}

TEST_CASE("queries scaled before the product are a convention") {
  const auto report = check_two_words({{"Q", "3.536,1.414\n3.536,0.707\n"},
                                       {"K", "0.5,1.6\n1.5,3.3\n"},
                                       {"scores", "4.031,9.970\n2.899,7.637\n"},
                                       {"scaled_scores", "4.031,9.970\n2.899,7.637\n"}});
  CHECK(verdicts(report, "Q") == "cc cc");
  CHECK(verdicts(report, "scores") == "cc cc");
  CHECK(verdicts(report, "scaled_scores") == "cc cc");
  CHECK(convention_of(report, "Q") == "convention.scaled-queries");
}

TEST_CASE("a matrix of another size is a wrong shape") {
  const auto report = check_two_words({{"context", "4,10,0\n6.97,5.04,0\n"}});
  CHECK(verdicts(report, "context") == "shape");
  CHECK(report.first_wrong == "context");
  CHECK(report.outcome == Outcome::wrong);
}

TEST_CASE("the first wrong cell says what was written, what is right, and what follows") {
  const auto report = check_two_words(
      {{"Q", "5,3\n5,1\n"}, {"K", "0.5,1.6\n1.5,3.3\n"}, {"scores", "7.3,17.4\n4.1,11.8\n"}});
  const StepReport& scores = report.steps.back();
  REQUIRE(scores.first);
  CHECK(scores.first->cell.row == 1);
  CHECK(scores.first->cell.column == 1);
  CHECK(scores.first->given == 11.8);
  CHECK(scores.first->from_yours == Approx(10.8));
  CHECK(verdicts(report, "scores") == "aa cw");
}

}  // namespace

/// Cells with nothing to round, and what a program's arrays are held to.
namespace {

using namespace qkv;
using namespace qkv::test;

Submission with_arrays(const std::map<std::string, std::vector<double>>& arrays,
                       Precision precision) {
  Texts texts;
  for (const auto& [name, numbers] : arrays) texts[name] = "0,0\n0,0\n";
  Submission work = submission_of(texts, two_words().trace);
  for (SubmittedFile& file : work.files) {
    file.written = array_of_values({2, 2}, arrays.at(file.name), precision);
  }
  return work;
}

std::string verdicts_of(const std::map<std::string, std::vector<double>>& arrays,
                        Precision precision, std::string_view step) {
  return verdicts(
      check_submission(two_words().lesson, two_words().trace, with_arrays(arrays, precision), {}),
      step);
}

constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

// A row of two numbers for each step, as a program stores it.
Submission with_rows(const Task& task, const std::map<std::string, std::vector<double>>& rows) {
  Texts texts;
  for (const auto& [name, numbers] : rows) texts[name] = "0,0\n";
  Submission work = submission_of(texts, task.trace);
  for (SubmittedFile& file : work.files) {
    file.written = array_of_values({1, 2}, rows.at(file.name), Precision::float32);
  }
  return work;
}

const Task& two_rows() {
  static const Task task(R"(
title = "Two rows"
[[given]]
name = "X"
value = [[259, 3]]
[[given]]
name = "S"
value = [[0, 1]]
[[step]]
name = "P"
op = "relu"
of = ["X"]
[[step]]
name = "W"
op = "softmax"
of = ["S"]
)");
  return task;
}

TEST_CASE("a program's type shows in one array for all that fit it") {
  const auto of_p = [](double first, const std::vector<double>& weights) {
    const Submission work = with_rows(two_rows(), {{"P", {first, 3}}, {"W", weights}});
    return verdicts(check_submission(two_rows().lesson, two_rows().trace, work, {}), "P");
  };
  const std::vector<double> bfloat16 = {0.26953125, 0.73046875};  // of 0.26894142 and 0.73105858
  CHECK(of_p(260, bfloat16) == "cc");
  CHECK(of_p(264, bfloat16) == "wc");
  CHECK(of_p(260, {0.26894142f, 0.73105858f}) == "wc");
}

TEST_CASE("what is no number was not rounded") {
  const auto found = [](double first, double second) {
    const Submission work = with_rows(two_rows(), {{"W", {first, second}}});
    return mistakes(check_submission(two_rows().lesson, two_rows().trace, work, {}), "W");
  };
  CHECK(found(0, 1) == "slip.too-few-decimals");
  CHECK(found(nan_value, 1).find("slip.too-few-decimals") == std::string::npos);
}

TEST_CASE("where nothing is there to round, a cell must be exact") {
  // 1 · 1 + 2 · 2 = 5; one decimal is more than it takes.
  CHECK(verdicts(checked(two_words(), {{"Q", "5.1,2\n5,1\n"}}), "Q") == "wc cc");
  CHECK(verdicts(checked(two_words(), {{"Q", "5.0,2.0\n5.0,1.0\n"}}), "Q") == "cc cc");
  CHECK(verdicts(checked(two_words(), {{"Q", "5.01e0,2e0\n5e0,1e0\n"}}), "Q") == "wc cc");
}

TEST_CASE("in e-notation a cell must be exact if its own digits suffice") {
  // Keys are 0.5, 1.6, 1.5, 3.3: one decimal says the first exactly, none rounds the others.
  CHECK(verdicts(checked(two_words(), {{"K", "6e-1,2e0\n2e0,3e0\n"}}), "K") == "wc cc");
}

TEST_CASE("exactness goes on through steps that were not handed in") {
  // 5 · 0.5 + 2 · 1.6 = 5.7: products and sum have one decimal, as Q and K on the way have.
  CHECK(verdicts(checked(two_words(), {{"scores", "5.8,14.1\n4.1,10.8\n"}}), "scores") == "wc cc");
  CHECK(verdicts(checked(two_words(), {{"Q", "5.0000000,2\n5,1\n"},
                                       {"K", "0.5,1.6\n1.5,3.3\n"},
                                       {"scores", "5.7,14.2\n4.1,10.8\n"}}),
                 "scores") == "cw cc");
}

TEST_CASE("a number that a missing step only moves stays exact with all its decimals") {
  const Task task(R"(
title = "Moved"
[[given]]
name = "X"
value = [[-0.25, 1], [0.75, -1.25]]
[[step]]
name = "T"
op = "transpose"
of = ["X"]
[[step]]
name = "P"
op = "relu"
of = ["T"]
)");
  // 0 comes from -0.25 and -1.25; 0.75 has a decimal more than was written.
  CHECK(verdicts(checked(task, {{"P", "0.1,0.7\n1.0,0.0\n"}}), "P") == "wc cc");
}

TEST_CASE("a cell whose arithmetic needs more decimals than were written may be rounded") {
  // 5 · 0.5 = 2.5 has a decimal more than was written.
  CHECK(verdicts(checked(two_words(), {{"scores", "6,14\n4,11\n"}}), "scores") == "cc cc");
  // Divided by √2, nothing ends.
  CHECK(verdicts(checked(two_words(), {{"scaled_scores", "4.1,10.0\n2.9,7.7\n"}}),
                 "scaled_scores") == "cc cc");
}

TEST_CASE("what follows exactly from a miscopied given is carried, near it is wrong") {
  const Texts miscopied = {{"W_Q", "1,0\n2,1.5\n"}, {"Q", "5.0,3.1\n5.0,1.5\n"}};
  CHECK(verdicts(checked(two_words(), miscopied), "Q") == "cw ca");
}

TEST_CASE("NaN is a wrong number in a text and in a binary array") {
  CHECK(verdicts(checked(two_words(), {{"Q", "nan,2\n5,1\n"}}), "Q") == "wc cc");
}

TEST_CASE("nothing is exact after a weight that was rounded to 1") {
  // Row 1 sees one key: its weight is 1 exactly, and its context the value 4, 10. In row 2 the
  // weights are 0.0087 and 0.9913, rounded to 0.0 and 1.0: the context is 6.97, 5.04.
  const Texts texts = {{"attention_weights", "1.0,0.0\n0.0,1.0\n"},
                       {"context", "4.1,10\n7.0,5.1\n"}};
  CHECK(verdicts(checked(two_words(), texts), "context") == "wc cc");
}

const std::string products = R"(
title = "Whole numbers and a third"
[[given]]
name = "A"
value = [[3, 5], [2, 1]]
[[given]]
name = "B"
value = [[100, -99], [7, 60]]
[[given]]
name = "C"
value = [[0.3, 0.7], [0.1, 0.9]]
[[step]]
name = "Y"
op = "matmul"
of = ["A", "A"]
[[step]]
name = "Z"
op = "matmul"
of = ["Y", "B"]
[[step]]
name = "R"
op = "matmul"
of = ["Y", "C"]
)";

TEST_CASE("a program has no room where its type holds every number") {
  const Task task(products);
  const auto of = [&](const char* step, std::vector<double> numbers) {
    Submission work = submission_of({{step, "0,0\n0,0\n"}}, task.trace);
    work.files[0].written = array_of_values({2, 2}, numbers, Precision::bfloat16);
    return verdicts(check_submission(task.lesson, task.trace, work, {}), step);
  };
  // A·A = [[19, 20], [8, 11]]; times B: [[2040, -681], [877, -132]]. A unit is 2040 / 128 = 15.9.
  CHECK(of("Z", {2040, -680, 880, -132}) == "cc cc");
  CHECK(of("Z", {2016, -680, 880, -132}) == "wc cc");  // 24 off: A·A may not have been rounded
  // Times C: [[7.7, 31.3], [3.5, 15.5]]. C is rounded, so there is room: a unit is 0.24.
  CHECK(of("R", {7.6875, 31.25, 3.5, 15.5}) == "cc cc");
  CHECK(of("R", {8, 31.25, 3.5, 15.5}) == "rc cc");
}

TEST_CASE("binary arrays that happen to be whole are held to their precision") {
  for (const Precision precision : {Precision::float16, Precision::float32, Precision::float64}) {
    CHECK(verdicts_of({{"V", {4, 10, 7, 6}}}, precision, "V") == "cc cw");
    // 5.7 and 14.1 are due.
    CHECK(verdicts_of({{"scores", {6, 14, 4, 11}}}, precision, "scores") == "ww ww");
  }
}

TEST_CASE("a unit of float16 and bfloat16 goes by the largest number that is due") {
  // 14.1 · 2^-10 = 0.0138 and 14.1 · 2^-7 = 0.11.
  const std::vector<double> off = {5.76171875, 14.1015625, 4.1015625, 10.796875};
  CHECK(verdicts_of({{"scores", off}}, Precision::float16, "scores") == "wc cc");
  CHECK(verdicts_of({{"scores", off}}, Precision::bfloat16, "scores") == "cc cc");
}

TEST_CASE("float32 numbers held as float64 are judged as float32") {
  std::vector<double> scaled;
  for (const double x : {5.7, 14.1, 4.1, 10.8}) {
    scaled.push_back(static_cast<float>(x / 1.4142135623730951));
  }
  CHECK(verdicts_of({{"scaled_scores", scaled}}, Precision::float64, "scaled_scores") == "cc cc");
  scaled[0] = static_cast<float>(scaled[0] + 1e-4);
  CHECK(verdicts_of({{"scaled_scores", scaled}}, Precision::float64, "scaled_scores") == "wc cc");
}

TEST_CASE("wrong cells that fill a block are told as one") {
  const CheckReport report =
      check_submission(two_words().lesson, two_words().trace,
                       with_arrays({{"scores", {5.7, 0, 4.1, 0}}}, Precision::float32), {});
  const auto& region = report.steps.front().region;
  REQUIRE(region);
  CHECK(region->what == Region::What::zero);
  CHECK(region->axes[0].from == 0);
  CHECK(region->axes[0].to == 1);
  CHECK(region->axes[1].from == 1);
  CHECK(region->axes[1].to == 1);
}

TEST_CASE("a matrix that is too large by one factor is told so") {
  const CheckReport report = check_submission(
      two_words().lesson, two_words().trace,
      with_arrays({{"scores", {5.7 * 1.3, 14.1 * 1.3, 4.1 * 1.3, 10.8 * 1.3}}}, Precision::float64),
      {});
  const auto& region = report.steps.front().region;
  REQUIRE(region);
  CHECK(region->what == Region::What::multiple);
  CHECK(region->factor == Approx(1.3));
}

TEST_CASE("zeros prove no mistake") {
  CHECK(mistakes(checked(two_words(), {{"scaled_scores", "0,9.97\n2.90,7.64\n"}}), "scaled_scores")
            .empty());
}

TEST_CASE("where several mistakes fit one cell, none is sure") {
  // V[1,1] is 1 · 2 + 2 · 1 = 4; 2 is each of its two terms.
  const CheckReport report = checked(two_words(), {{"V", "2,10\n7,5\n"}});
  const StepReport& v = report.steps.front();
  REQUIRE(v.mistakes.size() > 1);
  for (const Diagnosis& mistake : v.mistakes) CHECK_FALSE(mistake.sure);
}

TEST_CASE("a dropped term is named") {
  // V[2,1] is 3 · 2 + 1 · 1 = 7.
  const CheckReport report = checked(two_words(), {{"V", "4,10\n1,5\n"}});
  REQUIRE(!report.steps.front().mistakes.empty());
  CHECK(report.steps.front().mistakes.front().id == "slip.dropped-term");
  CHECK(report.steps.front().mistakes.front().says ==
        "One term of the sum was left out: X[fear,1] · W_V[1,1].");
}

}  // namespace

}  // namespace check_verdicts_tests
