#include "text/unicode.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace text_wrapped_tests {

using qkv::wrapped;

using Lines = std::vector<std::string>;

TEST_CASE("prose is filled to the width, and line breaks in it are blanks") {
  CHECK(wrapped("Each query is compared\nwith  each key.", 20) ==
        Lines{"Each query is", "compared with each", "key."});
  CHECK(wrapped("one two", 7) == Lines{"one two"});
  CHECK(wrapped("one two", 6) == Lines{"one", "two"});
}

TEST_CASE("the same prose at 40, 80 and 200 columns") {
  const std::string prose =
      "Row i of the attention weights says how much of each value flows into token i. It adds up "
      "to "
      "1.";
  CHECK(wrapped(prose, 40) == Lines{"Row i of the attention weights says how",
                                    "much of each value flows into token i.", "It adds up to 1."});
  CHECK(wrapped(prose, 80) ==
        Lines{"Row i of the attention weights says how much of each value flows into token i.",
              "It adds up to 1."});
  CHECK(wrapped(prose, 200) == Lines{prose});
}

TEST_CASE("blank lines divide paragraphs, and those around the prose go") {
  CHECK(wrapped("\n\none\n\n \n\ntwo\n", 20) == Lines{"one", "", "two"});
  CHECK(wrapped("", 20) == Lines{});
  CHECK(wrapped(" \n", 20) == Lines{});
}

TEST_CASE("code keeps its line, its blanks and its length") {
  CHECK(wrapped("As in NumPy:\n    a  =  q @ k.T\n    a / 2\nand so on.", 12) ==
        Lines{"As in NumPy:", "    a  =  q @ k.T", "    a / 2", "and so on."});
  CHECK(wrapped("\tcode", 40) == Lines{"    code"});
}

TEST_CASE("the further lines of an item stand under its first word") {
  CHECK(wrapped("- one two\nthree\n- four", 9) == Lines{"- one two", "  three", "- four"});
}

TEST_CASE("a word longer than the line is cut") {
  CHECK(wrapped("a abcdefghij b", 4) == Lines{"a", "abcd", "efgh", "ij b"});
  CHECK(wrapped("👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧", 5) ==
        Lines{"👩‍👩‍👧👩‍👩‍👧", "👩‍👩‍👧"});
  CHECK(wrapped("🙂🙂", 1) == Lines{"🙂", "🙂"});
  CHECK(wrapped("ab", 0) == Lines{"a", "b"});
}

TEST_CASE("Chinese and Japanese break anywhere, but no line starts with a full stop") {
  CHECK(wrapped("猫坐在垫子上", 8) == Lines{"猫坐在垫", "子上"});
  CHECK(wrapped("猫坐在垫。子上", 8) == Lines{"猫坐在", "垫。子上"});
  CHECK(wrapped("猫「坐」在", 6) == Lines{"猫", "「坐」", "在"});
  CHECK(wrapped("用softmax归一", 9) == Lines{"用softmax", "归一"});
  CHECK(wrapped("猫坐\n在 垫", 20) == Lines{"猫坐在 垫"});
}

TEST_CASE("Korean breaks at its blanks") {
  CHECK(wrapped("고양이가 앉았다", 10) == Lines{"고양이가", "앉았다"});
}

TEST_CASE("wrapped prose is safe") {
  CHECK(wrapped("a \x1b[2J b\u202E", 40) == Lines{"a ␛[2J b<U+202E>"});
}

}  // namespace text_wrapped_tests
