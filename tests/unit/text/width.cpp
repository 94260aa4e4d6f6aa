#include "text/unicode.hpp"

#include <catch2/catch.hpp>

namespace text_width_tests {

using qkv::padded_left;
using qkv::padded_right;
using qkv::shortened;
using qkv::width;

TEST_CASE("width counts the columns of a terminal") {
  CHECK(width("") == 0);
  CHECK(width("cat") == 3);
  CHECK(width("\u00E9") == 1);
  CHECK(width("e\u0301") == 1);
  CHECK(width("猫") == 2);
  CHECK(width("ｶﾞ") == 2);
  CHECK(width("한국") == 4);
  CHECK(width("\u1112\u1161\u11AB") == 2);  // 한 in three letters
  CHECK(width("نص") == 2);
  CHECK(width("नि") == 2);
  CHECK(width("กำ") == 2);
  CHECK(width("…⋮√·") == 4);
  CHECK(width("␛�") == 2);
}

TEST_CASE("an emoji sequence is two columns wide, however many characters it takes") {
  CHECK(width("🙂") == 2);
  CHECK(width("❤") == 1);
  CHECK(width("❤️") == 2);
  CHECK(width("👩‍👩‍👧") == 2);
  CHECK(width("👍🏽") == 2);
  CHECK(width("☝🏽") == 2);
  CHECK(width("🇩🇪") == 2);
  CHECK(width("🇩🇪🇫🇷") == 4);
  CHECK(width("1️⃣") == 2);
  CHECK(width("a👩‍👧b") == 4);
}

TEST_CASE("padding counts columns, not bytes") {
  CHECK(padded_left("猫", 5) == "   猫");
  CHECK(padded_right("e\u0301", 3) == "e\u0301  ");
  CHECK(padded_left("too wide", 3) == "too wide");
  CHECK(padded_right("too wide", 3) == "too wide");
}

TEST_CASE("shortening keeps what fits and cuts no cluster apart") {
  CHECK(shortened("embedding", 9) == "embedding");
  CHECK(shortened("embedding", 5) == "embe…");
  CHECK(shortened("猫猫猫", 6) == "猫猫猫");
  CHECK(shortened("猫猫猫", 5) == "猫猫…");
  CHECK(shortened("猫猫猫", 4) == "猫…");
  CHECK(shortened("ae\u0301io", 3) == "ae\u0301…");
  CHECK(shortened("👩‍👩‍👧👩‍👩‍👧", 3) == "👩‍👩‍👧…");
  CHECK(shortened("embedding", 1) == "…");
  CHECK(shortened("embedding", 0) == "");
}

}  // namespace text_width_tests
