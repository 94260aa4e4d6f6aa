#include "tensor/xt.hpp"

#include <catch2/catch.hpp>
#include <vector>

#include "tensor/resources.hpp"

namespace tensor_huge_pages_tests {

using namespace qkv;

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;

struct Limited {
  explicit Limited(std::size_t bytes) { set_memory_limit(bytes); }
  ~Limited() { set_memory_limit(default_memory_limit); }
};

}  // namespace

TEST_CASE("large arrays together take no more than the limit") {
  const Limited limited(64 * mebibyte);
  using Bytes = std::vector<char, HugePages<char>>;
  Bytes first(40 * mebibyte);
  CHECK_THROWS_AS(Bytes(30 * mebibyte), std::bad_alloc);
  CHECK(Bytes(20 * mebibyte).size() == 20 * mebibyte);
  first = Bytes();
  CHECK(Bytes(60 * mebibyte).size() == 60 * mebibyte);
}

TEST_CASE("a count beyond all memory is refused, not wrapped around") {
  HugePages<double> pages;
  CHECK_THROWS_AS(pages.allocate(SIZE_MAX / 4), std::bad_alloc);
}

}  // namespace tensor_huge_pages_tests
