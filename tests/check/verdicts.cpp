#include <catch2/catch.hpp>

#include "check/submissions.hpp"
#include "formats/dtype.hpp"

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
    if (one.step == step) return one.convention.value_or("none");
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
  const auto report = check_two_words(
      {{"scores", "5.7,14.1\n4.1,10.8\n"}, {"scaled_scores", "4.05,9.97\n2.90,7.64\n"}});
  CHECK(verdicts(report, "scaled_scores") == "rc cc");
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
  const auto report = check_two_words({{"scaled_scores", "4.03,\nnan,7.64\n"}});
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
  const double wild[] = {5000.00048828125, 2, 5, 1};  // as float32 holds 5.0000005 times 1000
  work.files[0].written = written_of({2, 2}, wild, Precision::float32);
  const CheckReport report = check(two_words().lesson, two_words().trace, work, {});
  CHECK(verdicts(report, "Q") == "wc cc");
  CHECK(mistakes(report, "Q") == "slip.decimal-point");
}

TEST_CASE("a program's exact numbers with few decimals excuse nothing behind them") {
  Submission work =
      submission_of({{"K", "0,0\n0,0\n"}, {"scores", "0,0\n0,0\n"}}, two_words().trace);
  const double keys[] = {0.5, 1.6, 1.5, 3.3};
  const double scores[] = {5.75, 14.1, 4.1, 10.8};  // the first is 0.05 too much
  for (const Precision precision : {Precision::float32, Precision::float64}) {
    work.files[0].written = written_of({2, 2}, keys, precision);
    work.files[1].written = written_of({2, 2}, scores, precision);
    const CheckReport report = check(two_words().lesson, two_words().trace, work, {});
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
  const Texts turned = {{"Q", "5,5\n2,1\n"}, {"K", "0.5,1.5\n1.6,3.3\n"}};
  const auto report = check_two_words(turned);
  CHECK(verdicts(report, "Q") == "cc cc");
  CHECK(convention_of(report, "Q") == "convention.columns");
  CHECK(verdicts(check_two_words(turned, {.strict = true}), "Q") == "cw wc");
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
