#include "text/number.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <vector>

namespace text_number_tests {

using qkv::brief;
using qkv::cell_text;
using qkv::exponent_legend;
using qkv::number;
using qkv::NumberStyle;
using qkv::style_for;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

using Values = std::vector<double>;
constexpr auto whole = NumberStyle::Kind::whole;
constexpr auto fixed = NumberStyle::Kind::fixed;
constexpr auto scientific = NumberStyle::Kind::scientific;

}  // namespace

TEST_CASE("a number has the decimals that were asked for") {
  CHECK(number(0.14778, 4) == "0.1478");
  CHECK(number(2, 4) == "2.0000");
  CHECK(number(-1.5, 0) == "-2");
  CHECK(number(1234567.25, 2) == "1234567.25");
}

TEST_CASE("what rounds to zero has no minus sign") {
  CHECK(number(-1e-9, 4) == "0.0000");
  CHECK(number(-0.0, 2) == "0.00");
  CHECK(number(-0.4, 0) == "0");
  CHECK(number(-0.00006, 4) == "-0.0001");
}

TEST_CASE("infinities and NaN have names") {
  CHECK(number(inf, 4) == "inf");
  CHECK(number(-inf, 4) == "-inf");
  CHECK(number(not_a_number, 4) == "nan");
  CHECK(brief(-inf, 4) == "-inf");
  CHECK(brief(not_a_number, 4) == "nan");
  CHECK(cell_text(-inf, {scientific, 2}) == "-inf");
}

TEST_CASE("prose drops decimals that say nothing") {
  CHECK(brief(0.148, 4) == "0.148");
  CHECK(brief(2, 4) == "2");
  CHECK(brief(100, 4) == "100");
  CHECK(brief(-0.5, 4) == "-0.5");
  CHECK(brief(0, 4) == "0");
  CHECK(brief(-0.0, 4) == "0");
}

TEST_CASE("prose writes very large and very small numbers with an exponent") {
  CHECK(brief(3.2866e-6, 4) == "3.29e-06");
  CHECK(brief(-3.2866e-6, 5) == "-3.287e-06");
  CHECK(brief(0.0001, 4) == "0.0001");
  CHECK(brief(0.00009, 4) == "9e-05");
  CHECK(brief(9999999.5, 4) == "9999999.5");
  CHECK(brief(10000000.5, 4) == "1e+07");
}

TEST_CASE("long whole numbers keep every digit, their thousands apart, as far as a double does") {
  CHECK(brief(99999, 4) == "99999");
  CHECK(brief(-100000, 4) == "-100,000");
  CHECK(brief(57982058496, 4) == "57,982,058,496");
  CHECK(brief(9007199254740992, 4) == "9,007,199,254,740,992");
  CHECK(brief(9007199254740994, 4) == "9.01e+15");
  CHECK(style_for(Values{57982058496, 1}, 4) == NumberStyle{NumberStyle::Kind::grouped, 0});
  CHECK(cell_text(57982058496, {NumberStyle::Kind::grouped, 0}) == "57,982,058,496");
  CHECK(cell_text(-inf, {NumberStyle::Kind::grouped, 0}) == "-inf");
}

TEST_CASE("a final 5 is rounded away from zero, as at school") {
  CHECK(number(0.03125, 4) == "0.0313");
  CHECK(number(-0.03125, 4) == "-0.0313");
  CHECK(number(0.15, 1) == "0.2");
  CHECK(number(2.5, 0) == "3");
  CHECK(number(0.25, 2) == "0.25");
  CHECK(number(0.1249999999, 2) == "0.12");
}

TEST_CASE("an exponent is put in words, with the first number that has one") {
  CHECK(exponent_legend("gives 2.26e-06 and 1e-05") == "(2.26e-06 means 0.00000226.)");
  CHECK(exponent_legend("4e-77") == "(4e-77 means 4 / 10^77.)");
  CHECK(exponent_legend("the-fat-cat e-mail 1e+07 e^(-2)").empty());
  CHECK(exponent_legend("1e-00 and 3e-99999999999").empty());
}

TEST_CASE("a matrix of whole numbers has no decimals") {
  CHECK(style_for(Values{1, 0, -2}, 4) == NumberStyle{whole, 0});
  CHECK(style_for(Values{0, -99999}, 4) == NumberStyle{whole, 0});
  CHECK(style_for(Values{1, -inf, not_a_number}, 4) == NumberStyle{whole, 0});
  CHECK(style_for(Values{}, 4) == NumberStyle{whole, 0});
}

TEST_CASE("one number that is not whole gives all of them decimals") {
  CHECK(style_for(Values{1, 0.1234567, -inf}, 3) == NumberStyle{fixed, 3});
  CHECK(style_for(Values{9999999.1234}, 4) == NumberStyle{fixed, 4});
}

TEST_CASE("a matrix has no more decimals than its numbers need") {
  CHECK(style_for(Values{1, 0.5, 0.25}, 4) == NumberStyle{fixed, 2});
  CHECK(style_for(Values{0.1 + 0.2, -inf}, 4) == NumberStyle{fixed, 1});
  CHECK(style_for(Values{0.5, 1e-9}, 4) == NumberStyle{fixed, 4});
}

TEST_CASE("one very large number gives the whole matrix exponents") {
  CHECK(style_for(Values{0.5, 1e7}, 4) == NumberStyle{scientific, 4});
  CHECK(style_for(Values{0.5, -1e9}, 4) == NumberStyle{scientific, 4});
  CHECK(style_for(Values{1e300}, 4) == NumberStyle{scientific, 4});
}

TEST_CASE("a matrix that would show only zeros has exponents") {
  CHECK(style_for(Values{0, 3e-6, -2e-5}, 4) == NumberStyle{scientific, 4});
  CHECK(style_for(Values{0, 3e-6, 1e-4}, 4) == NumberStyle{fixed, 4});
}

TEST_CASE("a cell that is exactly zero differs from a small number rounded") {
  CHECK(cell_text(0, {fixed, 4}) == "0");
  CHECK(cell_text(-0.0, {fixed, 4}) == "0");
  CHECK(cell_text(1e-9, {fixed, 4}) == "0.0000");
  CHECK(cell_text(0, {scientific, 2}) == "0");
  CHECK(cell_text(1500, {scientific, 2}) == "1.50e+03");
  CHECK(cell_text(-3, {whole, 0}) == "-3");
}

TEST_CASE("from 14 decimals on the last bits show, too") {
  const std::vector<double> third = {1.0 / 3, 0.5};
  for (const int digits : {14, 15, 16, 17}) CHECK(style_for(third, digits).digits == digits);
  CHECK(cell_text(1.0 / 3, style_for(third, 15)) == "0.333333333333333");
  // A double ends long before: 0.1 + 0.2 is 0.3 and 4.4e-17.
  const std::vector<double> sum = {0.1 + 0.2};
  CHECK(cell_text(sum[0], style_for(sum, 13)) == "0.3");
  CHECK(cell_text(sum[0], style_for(sum, 17)) == "0.30000000000000004");
  CHECK(style_for(std::vector{0.5, 0.25}, 17).digits == 2);
}

}  // namespace text_number_tests
