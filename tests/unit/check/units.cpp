#include <catch2/catch.hpp>
#include <limits>

#include "check/tolerance/cell_tolerance.hpp"
#include "formats/arrays/dtype.hpp"
#include "formats/handwork/csv.hpp"

namespace check_units_tests {

/// The unit of a matrix: what its digits, its type and the other matrices say. Each number is
/// worked out in the comment beside it.
namespace {

using namespace qkv;

constexpr double infinity = std::numeric_limits<double>::infinity();
using Row = std::vector<double>;

SubmittedArray array_of(NumeralCells cells, Precision precision = Precision::digits) {
  const std::size_t count = cells.size();
  SubmittedArray array{
      .name = "Y", .shape = {1, count}, .cells = std::move(cells), .precision = precision};
  snap_to_decimals(array);
  return array;
}

// One row of a CSV file.
SubmittedArray by_hand(const std::string& row) {
  const auto count = static_cast<std::size_t>(std::count(row.begin(), row.end(), ',')) + 1;
  return array_of(read_csv(row, "Y.csv", {.expected = std::array{std::size_t{1}, count}}).cells);
}

SubmittedArray by_program(const Row& row, Precision precision) {
  return array_of(array_of_values({1, row.size()}, row, precision).cells, precision);
}

MatrixTolerance unit_of(const SubmittedArray& array, const Row& right,
                        const OtherDecimals& others = {}, std::optional<int> digits = {}) {
  return matrix_tolerance(array, {right, right}, others, digits);
}

TEST_CASE("a unit is the last decimal, and at least a millionth of the largest number") {
  const MatrixTolerance units = unit_of(by_hand("0.33,1.5"), {1.0 / 3, 1.5});
  CHECK(units.basis == ToleranceBasis::decimals);
  CHECK(units.decimals == 2);
  CHECK(units.plain == Approx(0.01));
  CHECK(units.floor == Approx(1.5e-6));
  CHECK(unit_of(by_hand("200.12345,0.1"), {200.12345, 0.1}).plain == Approx(200.12345e-6));
  CHECK(unit_of(by_hand("0.12345678,0.2"), {0.12345678, 0.2}).plain == Approx(1e-6));
  // A wild number counts as ten times the largest right one at most.
  CHECK(unit_of(by_hand("4000000.5,1"), {2, 1}).floor == Approx(20e-6));
}

TEST_CASE("the decimals asked for take the place of those written") {
  const MatrixTolerance units = unit_of(by_hand("0.3,1.5"), {1.0 / 3, 1.5}, {}, 3);
  CHECK(units.basis == ToleranceBasis::requested);
  CHECK(units.decimals == 3);
  CHECK(units.plain == Approx(0.001));
}

TEST_CASE("whole numbers are exact, or as coarse as the other matrices, or halves at most") {
  const MatrixTolerance exact = unit_of(by_hand("4,10"), {4, 10});
  CHECK(exact.basis == ToleranceBasis::whole);
  CHECK(exact.plain == Approx(10e-6));
  CHECK(unit_of(by_hand("4,1"), {4, 1.0000001}).basis == ToleranceBasis::rounded);
  CHECK(unit_of(by_hand("4,-inf"), {4, -infinity}).basis == ToleranceBasis::whole);
  CHECK(unit_of(by_hand("150995000"), {150994944}).plain <= 0.5);  // however large

  const MatrixTolerance rounded = unit_of(by_hand("7,5"), {6.97, 5.04});
  CHECK(rounded.basis == ToleranceBasis::rounded);
  CHECK(rounded.plain == Approx(0.5));
  CHECK(unit_of(by_hand("0,2"), {0.3, 2}).plain == Approx(0.2));  // a tenth of the largest

  const MatrixTolerance others = unit_of(by_hand("7,5"), {6.97, 5.04}, {.written = 2});
  CHECK(others.basis == ToleranceBasis::other_matrices);
  CHECK(others.decimals == 2);
  CHECK(others.plain == Approx(0.01));
  // Nobody wrote the digits of an exact fraction or root: they count where nothing else has any.
  CHECK(unit_of(by_hand("7,5"), {6.97, 5.04}, {.written = 2, .exact = 5}).decimals == 2);
  CHECK(unit_of(by_hand("7,5"), {6.97, 5.04}, {.exact = 5}).plain == Approx(7e-6).margin(5e-6));
  CHECK(unit_of(by_hand("0,0"), {0.04, 0.02}, {.written = 1}).plain == Approx(0.004));

  // A program prints a whole number with one decimal that it did not round to.
  CHECK(unit_of(by_hand("0.0,0.0"), {0.04, 0.02}, {.written = 17}).plain == Approx(1e-6));
  CHECK(unit_of(by_hand("1.0,0.0"), {0.96, 0.04}, {.written = 17}).plain == Approx(1e-6));
  CHECK(unit_of(by_hand("0.0,0.0"), {0.04, 0.02}, {.written = 4}).plain == Approx(0.1));
}

TEST_CASE("in e-notation a cell's unit is its own last digit, up to half the largest number") {
  const MatrixTolerance units = unit_of(by_hand("4.03e0,1e1"), {4.03, 9.97});
  CHECK(units.basis == ToleranceBasis::exponents);
  CHECK(units.of(0) == Approx(0.01));
  CHECK(units.of(1) == Approx(4.985));
  CHECK(units.largest() == Approx(4.985));
  // On the way the numbers with the most digits count: 4.03, of three.
  CHECK(units.unsubmitted({}) == Approx(0.01));
  CHECK(unit_of(by_hand("4.03e0,1.25e1"), {4.03, 12.5}).unsubmitted({}) == Approx(0.1));
  CHECK(unit_of(by_hand("1.25e1,4.03e0"), {12.5, 4.03}).unsubmitted({}) == Approx(0.1));
  // Beside them decimals count, or whole numbers: those of a thousandth.
  CHECK(unit_of(by_hand("2e0,0.31"), {2.2, 0.31}).unsubmitted({}) == Approx(0.01));
  CHECK(unit_of(by_hand("2e0,0.31"), {2.2, 0.31}).of(0) == Approx(1));
  CHECK(unit_of(by_hand("2e0,3"), {2.2, 3.1}).unsubmitted({}) == Approx(0.001));
}

TEST_CASE("a zero has no exponent: its unit is that of whole numbers") {
  CHECK(unit_of(by_hand("0e0,1e0"), {0, 1}).of(0) == Approx(1e-6));
  CHECK(unit_of(by_hand("0e0,1e0"), {0, 1}).of(1) == Approx(0.5));
  CHECK(unit_of(by_hand("0e0,1e0"), {0.2, 1}).of(0) == Approx(0.1));
  CHECK(unit_of(by_hand("0e0,1e0"), {0.2, 1}, {.written = 2}).of(0) == Approx(0.01));
  CHECK(unit_of(by_hand("0e0,1.25e0"), {0.2, 1.25}).of(0) == Approx(0.01));
}

TEST_CASE("what was not submitted has the same unit, or that of the program's type") {
  CHECK(unit_of(by_hand("0.33,1.5"), {1.0 / 3, 1.5}).unsubmitted({}) == Approx(0.01));
  CHECK(unit_of(by_hand("0.33,1.5"), {1.0 / 3, 1.5}).unsubmitted_decimals() == 2);
  CHECK(unit_of(by_hand("4,10"), {4, 10}).unsubmitted({}) == Approx(0.001));
  CHECK(unit_of(by_hand("4,10"), {4, 10}).unsubmitted_decimals() == 3);
  const MatrixTolerance single =
      unit_of(by_program({0.3333333432674408, 2}, Precision::float32), {1.0 / 3, 2});
  CHECK(single.basis == ToleranceBasis::type);
  CHECK(single.plain == Approx(2e-6));
  CHECK(single.unsubmitted(Row{-50, 1}) == Approx(50e-6));
  CHECK(single.unsubmitted_decimals() == 12);
}

TEST_CASE("a hidden cell's own mask does not make a type coarse") {
  const Row own = {4, -1000};
  const Row truth = {4, -infinity};
  const SubmittedArray array = by_program({4, -1000}, Precision::bfloat16);
  CHECK(matrix_tolerance(array, {own, truth}, {}, {}).floor == Approx(4.0 / 128));
  CHECK(matrix_tolerance(array, {own, own}, {}, {}).floor == Approx(1000.0 / 128));
}

TEST_CASE("a program's decimals are its unit where they are coarser than its type") {
  const MatrixTolerance units =
      unit_of(by_program({0.33f, 0.67f}, Precision::float32), {1.0 / 3, 2.0 / 3});
  CHECK(units.basis == ToleranceBasis::decimals);
  CHECK(units.decimals == 2);
  CHECK(units.plain == Approx(0.01));
  REQUIRE(units.intermediate);
  CHECK(*units.intermediate == Approx(0.01));
  // A millionth is no coarser than float32.
  CHECK(unit_of(by_program({0.333333f, 0.666667f}, Precision::float32), {1.0 / 3, 2.0 / 3}).basis ==
        ToleranceBasis::type);
}

TEST_CASE("a number that a program rounded to a whole one is told apart from the right one") {
  const Row right = {-1.9998, 0.7616};  // 2·tanh(-5) and tanh(1)
  SubmittedArray whole = by_program({-2, 1}, Precision::float32);
  whole.rounded_to = 0;
  const MatrixTolerance units = matrix_tolerance(whole, {right, right}, {}, {});
  CHECK(units.basis == ToleranceBasis::type);
  CHECK(units.decimals >= 6);  // how many are shown of either
}

TEST_CASE("a copied number may be cut where it has more decimals, but not to a whole number") {
  const auto copied = [](const std::string& row, const Row& truth) {
    return copied_tolerance(by_hand(row), truth, {}, {});
  };
  const MatrixTolerance cut = copied("0.2,0.3,0.5", {0.25, 1.0 / 3, 0.5});
  CHECK(cut.of(0) == Approx(0.1));
  CHECK(cut.of(1) == Approx(0.1));
  CHECK(cut.of(2) == Approx(1e-6));
  CHECK(cut.basis == ToleranceBasis::decimals);
  CHECK(copied("0.2,0.3", {0.2, 0.3}).basis == ToleranceBasis::copied);
  CHECK(copied("0,1", {0.4, 1.2}).largest() == Approx(1.2e-6 / 1.2));
  CHECK(copied("1.25e2", {125.4}).of(0) == Approx(1));      // three digits
  CHECK(copied("1.3e2", {125.4}).of(0) == Approx(130e-6));  // two
  CHECK(copied("1.2e0,0.31", {1.25, 0.3}).of(0) == Approx(0.1));
}

OtherDecimals shown_by(const SubmittedArray& array, const Row& right) {
  const Tensor truth{.axes = {{.name = "", .size = 1}, {.name = "", .size = right.size()}},
                     .values = Values(right)};
  return decimals_of(array, &truth);
}

TEST_CASE("two numbers of few decimals, or one of two, show how a matrix was rounded") {
  const OtherDecimals two = shown_by(by_hand("0.33,0.67"), {1.0 / 3, 2.0 / 3});
  CHECK(two.written == 2);
  CHECK(two.few == 2);
  CHECK(two.rounded == 2);
  CHECK(two.single == 0);
  const OtherDecimals one = shown_by(by_hand("0.3,0.5"), {1.0 / 3, 0.5});  // a half shows nothing
  CHECK(one.few == 0);
  CHECK(one.rounded == 0);
  CHECK(one.single == 1);
  const OtherDecimals exact = shown_by(by_hand("0.3,0.7"), {0.3, 0.7});  // no more are right
  CHECK(exact.few == 1);
  CHECK(exact.rounded == 0);
  CHECK(exact.single == 0);
  const OtherDecimals program =
      shown_by(by_program({0.3f, 0.7f}, Precision::float32), {1.0 / 3, 2.0 / 3});
  CHECK(program.few == 1);
  CHECK(program.rounded == 1);
}

TEST_CASE("two matrices that show a single decimal prove what one with two does") {
  OtherDecimals most;
  most.add({.written = 2, .single = 1});
  CHECK(most.rounded == 0);
  most.add({.written = 1, .single = 1});
  CHECK(most.written == 2);
  CHECK(most.few == 1);
  CHECK(most.rounded == 1);
}

TEST_CASE("more than six decimals are a program's in full") {
  CHECK(decimals_of(by_hand("0.123456"), nullptr).fraction == 0);
  CHECK(decimals_of(by_hand("0.1234567"), nullptr).fraction == Approx(0.1234567));
  CHECK(decimals_of(by_hand("2.8765432"), nullptr).fraction == Approx(0.1234568));
  CHECK(decimals_of(by_hand("1.234567e-3"), nullptr).fraction == 0);  // seven digits
  CHECK(decimals_of(by_hand("1.2345678e-3"), nullptr).fraction == Approx(0.0012345678));
}

TEST_CASE("large numbers of few bits need few decimals, whether they were rounded or not") {
  // In float16, 141.625 stands for all numbers within 0.07, and -24.0625 for those within 0.012.
  CHECK(decimals_of(by_program({141.625, -24.0625}, Precision::float16), nullptr).needed == 2);
  CHECK(decimals_of(by_program({141.625, -141.5}, Precision::float16), nullptr).needed == 1);
}

std::optional<int> rounding_of(const SubmittedArray& array, const Row& right,
                               const OtherDecimals& others) {
  return detect_rounding(array, {right, right}, others);
}

TEST_CASE("a program rounded where its matrix shows it, alone or beside the others") {
  const auto program = [](const Row& row) { return by_program(row, Precision::float32); };
  const Row right = {1.0 / 3, 2.0 / 3};
  CHECK(rounding_of(program({0.33f, 0.67f}), right, {}) == 2);
  CHECK(rounding_of(program({0.3f, 0.5f}), right, {}) == std::nullopt);
  CHECK(rounding_of(program({0.3f, 0.5f}), right, {.single = 1}) == 1);
  CHECK(rounding_of(program({0.3f, 0.5f}), right, {.few = 3}) == 3);
  CHECK(rounding_of(program({0.5f, 0.75f}), right, {.few = 3}) == std::nullopt);
  CHECK(rounding_of(program({0.5f, 0.75f}), right, {.rounded = 1}) == 2);
  CHECK(rounding_of(program({1, 0}), right, {.few = 2, .rounded = 2}) == 2);
  // A matrix with all its digits shows that nothing was rounded, unless it is nearly whole.
  CHECK(rounding_of(program({0.33f, 0.67f}), right, {.fraction = 0.3}) == std::nullopt);
  CHECK(rounding_of(program({0.33f, 0.67f}), right, {.fraction = 0.004}) == 2);
  CHECK(rounding_of(program({0.33f, 0.67f}), right, {.needed = 3}) == std::nullopt);
  CHECK(rounding_of(program({0.33f, 0.67f}), right, {.needed = 2}) == 2);
}

// By NumPy: np.float16(1/3) = 0.333251953125, np.float16(2/3) = 0.66650390625.
TEST_CASE("a coarser type shows in two numbers that it holds and the right ones do not fit") {
  const auto found = [](const Row& row, const Row& right, Precision stored) {
    return detect_precision(by_program(row, stored), right, false);
  };
  const Row thirds = {1.0 / 3, 2.0 / 3};
  const Row half = {0.333251953125, 0.66650390625};
  CHECK(found(half, thirds, Precision::float64) == Precision::float16);
  CHECK(found(half, thirds, Precision::float32) == Precision::float16);
  CHECK(found(half, half, Precision::float64) == Precision::float64);  // as right as it can be
  CHECK(found({0.333251953125, 0.5}, thirds, Precision::float64) == Precision::float64);
  CHECK(found({0.333251953125}, {1.0 / 3}, Precision::float64) == Precision::float16);
  // One number of the type is enough beside another that it holds and that is right.
  CHECK(found(half, {1.0 / 3, half[1]}, Precision::float64) == Precision::float16);
  CHECK(found({0.333984375, 0.66796875}, thirds, Precision::float64) == Precision::bfloat16);
  CHECK(found({0.333251953125, 0.667}, thirds, Precision::float64) == Precision::float64);
  // 65504 is the largest float16; 2^-24 is the smallest.
  CHECK(found({0.333251953125, 0.66650390625, 65504}, {1.0 / 3, 2.0 / 3, 65504},
              Precision::float64) == Precision::float16);
  CHECK(found({0.333251953125, 0.66650390625, 65536}, {1.0 / 3, 2.0 / 3, 65536},
              Precision::float64) == Precision::float32);
  // The error of a double beside whole numbers is no number of a coarser type.
  const Row noisy = {3.0000000000000004, 12.5, 235, 6, 34.000000000000004, 485};
  const Row silu = {2.857722, 12.499953, 235, 5.985164, 34, 485};
  CHECK(found(noisy, silu, Precision::float64) == Precision::float64);
  // Nine digits of float16 numbers; -1.478515625 lies half a unit from what is written of it.
  CHECK(detect_precision(by_hand("-1.47851562,1.12402344,0.0363"), Row{-1.4788, 1.124, 0.0363},
                         false) == Precision::digits);
  CHECK(detect_precision(by_hand("-1.47851562,1.12402344,0.0362243652"),
                         Row{-1.4788, 1.124, 0.0363}, false) == Precision::float16);
  CHECK(is_held(0x1p-24, Precision::float16));
  CHECK(!is_held(0x1p-25, Precision::float16));
  CHECK(!is_held(0x1.8p-24, Precision::float16));
  CHECK(is_held(0x1.ffcp-14, Precision::float16));
  CHECK(!is_held(0x1.ffep-15, Precision::float16));
}

}  // namespace

}  // namespace check_units_tests
