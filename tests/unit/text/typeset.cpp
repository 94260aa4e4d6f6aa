#include "text/strings.hpp"

#include <catch2/catch.hpp>

namespace text_typeset_tests {

using qkv::with_minus_signs;

TEST_CASE("a hyphen before a number is a minus sign") {
  CHECK(with_minus_signs("-0.5") == "−0.5");
  CHECK(with_minus_signs("from -1 to -inf, (-.5) 2·-3") == "from −1 to −inf, (−.5) 2·−3");
}

TEST_CASE("hyphens of words, ranges, exponents, options and commands stay") {
  for (const char* text : {"self-attention", "GPT-2", "2-3", "1e-06", "-o", "--digits", "-info",
                           "--set 'X[1,1]=-1'", "a - b"}) {
    CHECK(with_minus_signs(text) == text);
  }
}

}  // namespace text_typeset_tests
