#include "text/unicode.hpp"

#include <catch2/catch.hpp>

namespace text_utf8_tests {

using namespace qkv;

TEST_CASE("characters are counted, not bytes") {
  CHECK(code_point_count("") == 0);
  CHECK(code_point_count("naïve 猫") == 7);
}

TEST_CASE("the last character begins where its first byte stands") {
  CHECK(last_character("") == 0);
  CHECK(last_character("a") == 0);
  CHECK(last_character("ab") == 1);
  CHECK(last_character("a猫") == 1);
  CHECK(last_character("\x80\x80") == 0);  // no beginning at all
}

TEST_CASE("a short line stays as it is") {
  const std::string line(1200, 'a');
  CHECK(elide_middle(line) == line);
}

TEST_CASE("a long line keeps its ends and cuts no character") {
  std::string line = "begins here ";
  for (int i = 0; i < 1000; ++i) line += "猫";
  line += " and ends here";
  const std::string shown = elide_middle(line);
  CHECK(shown.size() < 1210);
  CHECK(shown.starts_with("begins here 猫"));
  CHECK(shown.ends_with("猫 and ends here"));
  std::size_t cats = 0;
  for (std::size_t at = shown.find("猫"); at != shown.npos; at = shown.find("猫", at + 3)) ++cats;
  CHECK(shown.size() == 12 + 14 + 3 * cats + 3);  // … has three bytes as well
}

}  // namespace text_utf8_tests
