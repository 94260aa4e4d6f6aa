#include "formats/format.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "tensor/tensor.hpp"

namespace formats_numeral_tests {

namespace {

using namespace qkv;

double value(std::string_view token) { return parse_numeral(token).numeral.value; }
int decimals(std::string_view token) { return parse_numeral(token).numeral.decimals; }
bool is_number(std::string_view token) { return parse_numeral(token).fault == NumeralError::none; }

TEST_CASE("a number is worth what its digits say") {
  CHECK(value("0.25") == 0.25);
  CHECK(value("12") == 12);
  CHECK(value("-3") == -3);
  CHECK(value("+3") == 3);
  CHECK(value("\u22123.5") == -3.5);
  CHECK(value("5.") == 5);
  CHECK(value(".5") == 0.5);
  CHECK(value("1.20e-3") == 0.0012);
  CHECK(value("3E+02") == 300);
  CHECK(value("1e\u22122") == 0.01);
}

TEST_CASE("several commas separate thousands, where they can") {
  CHECK(parse_cell("1,572,864").numeral.value == 1572864);
  CHECK(parse_cell("-12,345,678").numeral.value == -12345678);
  CHECK(parse_cell("−12,345,678").numeral.value == -12345678);
  CHECK(parse_cell("8,204", DecimalMark::comma).numeral.value == 8.204);
  for (const char* text : {"1,572,86", "1572,864,000", ",572,864", "1,,572", "1,572,864.5"})
    CHECK(parse_cell(text).fault == NumeralError::not_a_number);
}

TEST_CASE("the smallest and the largest doubles are read to the last bit") {
  CHECK(value("4.9406564584124654e-324") == std::numeric_limits<double>::denorm_min());
  CHECK(value("2.2250738585072014e-308") == std::numeric_limits<double>::min());
  CHECK(value("1.7976931348623157e308") == std::numeric_limits<double>::max());
}

TEST_CASE("a zero keeps its sign") {
  CHECK(std::signbit(value("-0.0")));
  CHECK_FALSE(std::signbit(value("0.0")));
}

TEST_CASE("decimals are the place of the last digit written") {
  CHECK(decimals("0.25") == 2);
  CHECK(decimals("0.250") == 3);
  CHECK(decimals("12") == 0);
  CHECK(decimals("12.") == 0);
  CHECK(decimals("1.20e-3") == 5);
  CHECK(decimals("3e+02") == -2);
  CHECK(decimals("-inf") == 0);
}

TEST_CASE("only an exponent makes a number scientific") {
  CHECK(parse_numeral("1.20e-3").numeral.scientific);
  CHECK_FALSE(parse_numeral("0.0012").numeral.scientific);
}

TEST_CASE("infinity has many spellings") {
  CHECK(value("inf") == infinity);
  CHECK(value("Infinity") == infinity);
  CHECK(value("\u221e") == infinity);
  CHECK(value("-Inf") == -infinity);
  CHECK(value("-\u221e") == -infinity);
  CHECK(value("\u2212\u221e") == -infinity);
}

TEST_CASE("nan is a blank") {
  CHECK(std::isnan(value("nan")));
  CHECK(std::isnan(value("NaN")));
}

TEST_CASE("what is not wholly a number is none") {
  CHECK_FALSE(is_number("1x"));
  CHECK_FALSE(is_number(""));
  CHECK_FALSE(is_number("-"));
  CHECK_FALSE(is_number("."));
  CHECK_FALSE(is_number("--1"));
  CHECK_FALSE(is_number("- 1"));
  CHECK_FALSE(is_number("1 2"));
  CHECK_FALSE(is_number("1e"));
  CHECK_FALSE(is_number("1e+"));
  CHECK_FALSE(is_number("0x10"));
  CHECK_FALSE(is_number("1_000"));
  CHECK_FALSE(is_number("1,000.5"));
  CHECK_FALSE(is_number("nan(1)"));
  CHECK_FALSE(is_number("infinit"));
  CHECK_FALSE(is_number("1.2.3"));
}

TEST_CASE("a decimal comma is read where it is asked for, and only there") {
  CHECK(parse_numeral("0,25", DecimalMark::comma).numeral.value == 0.25);
  CHECK(parse_numeral("0,25", DecimalMark::comma).numeral.decimals == 2);
  CHECK(parse_numeral("-1,5e-2", DecimalMark::comma).numeral.value == -0.015);
  CHECK(parse_numeral("0.25", DecimalMark::comma).fault == NumeralError::not_a_number);
  CHECK(parse_numeral("0,25").fault == NumeralError::not_a_number);
}

TEST_CASE("too large is refused, too small is zero") {
  CHECK(parse_numeral("1e999").fault == NumeralError::too_large);
  CHECK(parse_numeral("-1e999").fault == NumeralError::too_large);
  CHECK(parse_numeral("1e99999999999999999999").fault == NumeralError::too_large);
  CHECK(value("1e-999") == 0);
  CHECK(value("1e-99999999999999999999") == 0);
  CHECK(value("0e999") == 0);
  CHECK(value("0.0000001e310") == 1e303);
}

TEST_CASE("a refusal says what to write instead") {
  CHECK(refusal(NumeralError::not_a_number, "1x") ==
        "\"1x\" is not a number: write it like 0.25 or 2.5e-3");
  CHECK(refusal(NumeralError::too_large, "1e999") ==
        "\"1e999\" is too large: a number goes up to 1.79e308; for infinity write inf");
}

TEST_CASE("what a message quotes can neither break its line nor run the terminal") {
  CHECK(printable("a\nb\x1b[31m") == "a?b?[31m");
  CHECK(printable("\xc2\x9b") == "?");
  CHECK(printable("caf\xe9") == "caf?");
  CHECK(printable("déjà") == "déjà");
  CHECK(printable(std::string(50, 'a')) == std::string(40, 'a') + "…");
}

TEST_CASE("a cell may be a fraction, a root or a percentage") {
  const auto number = [](std::string_view text) {
    const NumeralResult result = parse_cell(text);
    return result.fault == NumeralError::none ? result.numeral.value : -99;
  };
  CHECK(number("1/3") == 1.0 / 3);
  CHECK(number("-1 / 4") == -0.25);
  CHECK(number("\u22123/2") == -1.5);
  CHECK(number("1/-2") == -0.5);
  CHECK(number("√2") == std::sqrt(2.0));
  CHECK(number("½") == 0.5);
  CHECK(number("−¾") == -0.75);
  CHECK(number("1⁄3") == 1 / 3.0);
  CHECK(number("1½") == -99);  // not 11 halves
  CHECK(number("3/√2") == 3 / std::sqrt(2.0));
  CHECK(number("1/2√3") == 1 / (2 * std::sqrt(3.0)));
  for (const auto* text : {"1/(2√3)", "1/(2·sqrt(3))", "1 / (2 √(3))"})
    CHECK(number(text) == 1 / (2 * std::sqrt(3.0)));
  for (const auto* text : {"1/2*√3", "1/2·√3", "1/2 √3", "1/2 * sqrt(3)", "1/2·√(3)"})
    CHECK(number(text) == std::sqrt(3.0) / 2);
  CHECK(number("-2√3/3") == -2 * std::sqrt(3.0) / 3);
  CHECK(number("sqrt(2)/2") == std::sqrt(2.0) / 2);
  CHECK(number("80%") == 0.8);
  CHECK(number("12.5 %") == 0.125);
  CHECK(number("0.25") == 0.25);
  CHECK(number("\u00A010\u202F") == 10);  // as word processors and pages write it
  CHECK(number("\u200B0.5") == 0.5);
  CHECK(number("\u20131.5") == -1.5);
  CHECK(number("\u2013inf") == -std::numeric_limits<double>::infinity());
  CHECK(number("1\u00A0000") == -99);
  for (const char* text :
       {"1/0", "1/", "/3", "a/b", "%", "inf%", "√", "√-1", "1/2/3", "1 1/2", "3-2", "1/(2", "1/2)",
        "1/()", "1/(", "*3√2", "1/·2√3", "1/2··√3", "1/2,√3"}) {
    INFO(text);
    CHECK(number(text) == -99);
  }
}

TEST_CASE("a percentage has its own decimals and two") {
  CHECK(parse_cell("80%").numeral.decimals == 2);
  CHECK(parse_cell("12.5%").numeral.decimals == 3);
  CHECK(parse_cell("80%").numeral.exact);
  CHECK_FALSE(parse_cell("0.8").numeral.exact);
}

TEST_CASE("a fraction is as precise as its matrix, else as six digits") {
  Numerals among_decimals = {parse_cell("0.25").numeral, parse_cell("1/3").numeral};
  resolve_precision(among_decimals);
  CHECK(among_decimals[1].decimals == 2);
  CHECK_FALSE(among_decimals[1].scientific);
  Numerals alone = {parse_cell("1").numeral, parse_cell("1/3").numeral,
                    parse_cell("200/3").numeral};
  resolve_precision(alone);
  CHECK(alone[1].scientific);
  CHECK(alone[1].decimals == 6);  // 3.33333e-01
  CHECK(alone[2].decimals == 4);  // 6.66667e+01
  CHECK_FALSE(alone[0].scientific);
}

TEST_CASE("a quotient beyond the range of a double is no number, and a long one has its digits") {
  CHECK(parse_cell("-3/1e-320").fault == NumeralError::not_a_number);
  CHECK(parse_cell("3/1.00e-300").numeral.value == 3 / 1e-300);
  CHECK(parse_cell("1e-323/9.75").numeral.value == 1e-323 / 9.75);
}

TEST_CASE("a fraction over a rounded number is as precise as that number, if nothing else is") {
  Numerals alone = {parse_cell("2/1.414").numeral, parse_cell("20/1.414").numeral,
                    parse_cell("1/1.5").numeral};
  resolve_precision(alone);
  CHECK(alone[0].decimals == 3);  // 1.414427 for √2
  CHECK(alone[1].decimals == 2);  // 14.144 for 14.142
  CHECK(alone[2].decimals == 6);  // 6.66667e-01
  Numerals among_decimals = {parse_cell("0.2500").numeral, parse_cell("2/1.414").numeral};
  resolve_precision(among_decimals);
  CHECK(among_decimals[1].decimals == 4);
  CHECK_FALSE(among_decimals[1].scientific);
}

}  // namespace

}  // namespace formats_numeral_tests
