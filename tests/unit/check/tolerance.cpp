#include "check/compare/compare.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <vector>

namespace check_tolerance_tests {

namespace {

using namespace qkv;

constexpr double infinity = std::numeric_limits<double>::infinity();

TEST_CASE("of rtol and atol alone the other is as NumPy's assert_allclose has it") {
  const auto relative_alone = ToleranceChoice{.relative = 0.5}.of("Q");
  CHECK(relative_alone->relative == 0.5);
  CHECK(relative_alone->absolute == 0);
  const auto absolute_alone = ToleranceChoice{.absolute = 0.5}.of("Q");
  CHECK(absolute_alone->relative == 1e-7);
  CHECK(absolute_alone->absolute == 0.5);
  CHECK_FALSE(ToleranceChoice{}.of("Q").has_value());
}

TEST_CASE("the last pattern that fits a step says its tolerance, before rtol and atol") {
  const ToleranceChoice choice{.relative = 0.5,
                               .of_steps = {{"h*.Q", 0.25}, {"h1.*", 0.125}, {"K", 1}}};
  CHECK(choice.of("h0.Q")->absolute == 0.25);
  CHECK(choice.of("h1.Q")->absolute == 0.125);
  CHECK(choice.of("h1.Q")->relative == 0.125);
  CHECK(choice.of("V")->relative == 0.5);
}

TEST_CASE("two lessons may differ by a millionth of a millionth of their largest number") {
  const Tolerance large = tolerance_of_lessons(std::vector<double>{3, -50, infinity});
  CHECK(large.absolute == Approx(5e-11));  // 1e-12 · 50
  CHECK(large.relative == 0);
  CHECK(large.least == 0);
  CHECK(tolerance_of_lessons(std::vector<double>{0.5, 0}).absolute == Approx(1e-12));  // 1 at least
}

TEST_CASE("dumps have PyTorch's tolerance for their precision, times the root of the terms") {
  const std::vector<double> desired = {2, -4};
  const auto of_nine = [&](Precision precision) {
    return tolerance_of_dumps(precision, desired, 9);
  };
  CHECK(of_nine(Precision::bfloat16).relative == Approx(0.048));
  CHECK(of_nine(Precision::float16).relative == Approx(0.003));
  CHECK(of_nine(Precision::float32).relative == Approx(3.9e-6));
  CHECK(of_nine(Precision::float64).relative == Approx(3e-7));
  for (const Precision precision : {Precision::bfloat16, Precision::float16, Precision::float32}) {
    CHECK(of_nine(precision).absolute == Approx(3e-5));
  }
  CHECK(of_nine(Precision::float64).absolute == Approx(3e-7));
}

TEST_CASE("in half precision numbers near 0 may be off by what the largest was rounded by") {
  const std::vector<double> desired = {0, 2, -4};
  const auto least = [&](Precision precision) {
    return tolerance_of_dumps(precision, desired, 1).least;
  };
  CHECK(least(Precision::bfloat16) == 4.0 / 128);  // 8 bits of mantissa
  CHECK(least(Precision::float16) == 4.0 / 1024);  // 11
  CHECK(least(Precision::float32) == 0);
  CHECK(least(Precision::float64) == 0);
  CHECK(least(Precision::digits) == 0);
  CHECK(tolerance_of_dumps(Precision::float16, std::vector<double>{0, 0.5}, 1).least == 0.5 / 1024);
}

}  // namespace

}  // namespace check_tolerance_tests
