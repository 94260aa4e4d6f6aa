#include "text/unicode.hpp"

#include <catch2/catch.hpp>

namespace text_lowercase_tests {

using namespace qkv;

TEST_CASE("a file's extension is the same in capitals") {
  CHECK(ascii_lowercase(".NPY") == ".npy");
  CHECK(ascii_lowercase("Ä@[`{") == "Ä@[`{");
}

TEST_CASE("letters of every alphabet become small") {
  CHECK(lowercase("The CAT Ärgert Ωλγα") == "the cat ärgert ωλγα");
  CHECK(lowercase("猫 2") == "猫 2");
  CHECK(lowercase("A\xff"
                  "B") ==
        "a\xff"
        "b");
}

}  // namespace text_lowercase_tests
