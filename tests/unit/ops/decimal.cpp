#include "ops/numbers/numbers.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

namespace ops_decimal_tests {

namespace {

using qkv::Decimal;

TEST_CASE("a product knows how many decimals it takes") {
  const Decimal product = Decimal(0.5) * Decimal(1.5);
  CHECK(product.value() == 0.75);
  CHECK(product.decimals() == 2);
  CHECK((Decimal(0.5) * Decimal(4.0)).decimals() == 0);  // the result counts, not what goes in
  CHECK((Decimal(-1.2) * Decimal(0.3)).value() == -0.36);
}

TEST_CASE("a sum takes as many decimals as the longest of what it was made of") {
  const Decimal sum = Decimal(0.5) * Decimal(0.5) + Decimal(0.75);
  CHECK(sum.value() == 1);
  CHECK(sum.decimals() == 2);
  CHECK((Decimal(0.1) + Decimal(0.2)).value() == 0.3);
  CHECK((Decimal(1.0) - Decimal(0.01)).decimals() == 2);
}

TEST_CASE("a quotient is exact where it ends") {
  CHECK((Decimal(3.0) / Decimal(8.0)).value() == 0.375);
  CHECK((Decimal(1.5) / Decimal(0.05)).value() == 30);
  CHECK((Decimal(-6.0) / Decimal(3.0)).value() == -2);
  CHECK_FALSE((Decimal(1.0) / Decimal(3.0)).is_exact());
  CHECK_FALSE((Decimal(1.0) / Decimal(0.0)).is_exact());
}

TEST_CASE("roots of squares are exact, and e to the power of 0") {
  CHECK(sqrt(Decimal(4.0)).value() == 2);
  CHECK(sqrt(Decimal(2.25)).value() == 1.5);
  CHECK_FALSE(sqrt(Decimal(2.0)).is_exact());
  CHECK_FALSE(sqrt(Decimal(0.4)).is_exact());
  CHECK(exp(Decimal(0.0)).value() == 1);
  CHECK(exp(Decimal(-std::numeric_limits<double>::infinity())).value() == 0);
  CHECK_FALSE(exp(Decimal(1.0)).is_exact());
}

TEST_CASE("a number without an end spoils what is made of it") {
  CHECK_FALSE(Decimal(std::sqrt(2.0)).is_exact());
  CHECK_FALSE((Decimal::unknown() * Decimal(0.0)).is_exact());
  CHECK_FALSE((Decimal::unknown() + Decimal(1.0)).is_exact());
  CHECK(std::isnan(Decimal::unknown().value()));
}

TEST_CASE("what is too long to be counted is not exact") {
  CHECK_FALSE((Decimal(1234567.0) * Decimal(1e13)).is_exact());
  CHECK_FALSE((Decimal(0.000000001) * Decimal(0.0000000001)).is_exact());
}

}  // namespace

}  // namespace ops_decimal_tests
