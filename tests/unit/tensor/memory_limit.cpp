#include "tensor/resources.hpp"

#include <catch2/catch.hpp>
#include <cstdint>

#include "text/strings.hpp"

namespace tensor_memory_limit_tests {

using namespace qkv;

namespace {

// The limit while a test lives.
struct Limited {
  explicit Limited(std::size_t bytes) { set_memory_limit(bytes); }
  ~Limited() { set_memory_limit(default_memory_limit); }
};

}  // namespace

TEST_CASE("a size is a number and a unit, in steps of 1024") {
  CHECK(parse_size("8G") == 8589934592);
  CHECK(parse_size("8GiB") == 8589934592);
  CHECK(parse_size("512M") == 536870912);
  CHECK(parse_size("512mb") == 536870912);
  CHECK(parse_size("1.5g") == 1610612736);
  CHECK(parse_size("64k") == 65536);
  CHECK(parse_size("2T") == 2199023255552);
  for (const char* no_size : {"", "8", "G", "-1G", "8X", "8 G", "1e30T", "nanG", "infG", "8GG"}) {
    CHECK_FALSE(parse_size(no_size));
  }
}

TEST_CASE("sizes are told in the largest unit that they fill") {
  CHECK(size_text(0) == "0 bytes");
  CHECK(size_text(1023) == "1023 bytes");
  CHECK(size_text(1536) == "1.5 KiB");
  CHECK(size_text(512.0 * 1024 * 1024) == "512 MiB");
  CHECK(size_text(8e10) == "74.5 GiB");
}

TEST_CASE("a shape is refused by what it takes, and told what would do") {
  const Limited limited(1 << 20);  // 131072 numbers
  CHECK(element_count({256, 512}, "W") == 131072);
  CHECK_THROWS_WITH(element_count({256, 513}, "W"),
                    "W of 256×513 numbers is too large: 131328 numbers take 1 MiB, and qkv may use "
                    "1 MiB (131072 numbers): make it smaller, or allow more with --memory 1G");
  CHECK_THROWS_AS(element_count({256, 513}, "W"), InputError);
}

TEST_CASE("a product beyond all integers is too large, not small") {
  const std::size_t half = std::size_t{1} << 32;
  CHECK_THROWS_WITH(
      element_count({half, half}, "W"),
      "W of 4294967296×4294967296 numbers is too large: 2e+19 numbers take "
      "137438953472 GiB, and qkv may use 8 GiB (1073741824 numbers): make it smaller");
  CHECK_THROWS_AS(element_count({half, half, 0}, "W"), InputError);
  CHECK_THROWS_AS(element_count({0, SIZE_MAX}, "W"), InputError);
}

TEST_CASE("what a lesson holds already counts, until it is let go") {
  const Limited limited(1 << 20);
  {
    MemoryBudget budget;
    budget.add(zeros({{"row", 100}, {"column", 1000}}), "X");
    CHECK(element_count({31072}, "W") == 31072);
    CHECK_THROWS_WITH(
        element_count({31073}, "W"),
        "W of 31073 numbers is too large: 31073 numbers take 243 KiB, and qkv may use "
        "1 MiB (131072 numbers), of which 781 KiB are taken: make it smaller, or "
        "allow more with --memory 1G");
    budget.add(zeros({{"column", 31072}}), "Y");
    CHECK_THROWS_AS(budget.add(tensor_of({1}, {0}), "one more"), InputError);
  }
  CHECK(element_count({131072}, "W") == 131072);
}

}  // namespace tensor_memory_limit_tests
