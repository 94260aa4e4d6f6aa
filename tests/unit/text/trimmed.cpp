#include "text/strings.hpp"

#include <catch2/catch.hpp>

namespace text_trimmed_tests {

using qkv::trimmed;

TEST_CASE("blanks go at both ends and stay in the middle") {
  CHECK(trimmed("\t the cat \r\n") == "the cat");
  CHECK(trimmed(" \n") == "");
  CHECK(trimmed("") == "");
}

TEST_CASE("which blanks go can be said") { CHECK(trimmed(" \tcat ", " ") == "\tcat"); }

}  // namespace text_trimmed_tests
