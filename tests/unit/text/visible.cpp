#include "text/unicode.hpp"

#include <catch2/catch.hpp>

namespace text_visible_tests {

using qkv::sanitise;
using qkv::sanitise_label;
using qkv::sanitise_prose;

TEST_CASE("plain words of any language stay as they are") {
  CHECK(sanitise("the fat cat, d_k = 2") == "the fat cat, d_k = 2");
  CHECK(sanitise("猫がマットの上に座った") == "猫がマットの上に座った");
  CHECK(sanitise("القطة السمينة") == "القطة السمينة");
  CHECK(sanitise("नमस्ते") == "नमस्ते");
  CHECK(sanitise("e\u0301te\u0301") == "e\u0301te\u0301");
  CHECK(sanitise("√d_k · Qᵀ … — “x”") == "√d_k · Qᵀ … — “x”");
}

TEST_CASE("an escape sequence shows and does nothing") {
  CHECK(sanitise("\x1b[2J\x1b]0;title\x07") == "␛[2J␛]0;title␇");
  CHECK(sanitise(std::string("a\0b", 3)) == "a␀b");
  CHECK(sanitise("\x7f") == "␡");
  CHECK(sanitise("\u009b31m") == "<U+009B>31m");  // the same as ESC [ in one character
}

TEST_CASE("a label has no line breaks and no tabs") {
  CHECK(sanitise("a\nb\tc\r") == "a␊b␉c␍");
  CHECK(sanitise("a\u2028b\u2029c\u0085") == "a<U+2028>b<U+2029>c<U+0085>");
}

TEST_CASE("prose keeps its line breaks, and a tab is four blanks") {
  CHECK(sanitise_prose("a\n\nb\r\nc\td\x1b[m") == "a\n\nb\nc    d␛[m");
  CHECK(sanitise_prose("a\rb") == "a␍b");
}

TEST_CASE("nothing turns the reading direction") {
  CHECK(sanitise("\u202Etac") == "<U+202E>tac");
  CHECK(sanitise("a\u2066b\u2069\u200F\u061C") == "a<U+2066>b<U+2069><U+200F><U+061C>");
}

TEST_CASE("what has no width shows") {
  CHECK(sanitise("ca\u200Bt") == "ca<U+200B>t");
  CHECK(sanitise("ca\u200Dt") == "ca<U+200D>t");
  CHECK(sanitise("\uFEFFcat") == "<U+FEFF>cat");
  CHECK(sanitise("co\u00ADop") == "co<U+00AD>op");
  CHECK(sanitise("a\uFE0F") == "a<U+FE0F>");
  CHECK(sanitise("x\U000E0041") == "x<U+E0041>");
  CHECK(sanitise("\u3164") == "<U+3164>");  // a Korean letter drawn as nothing
  CHECK(sanitise("\uFFFE\U000E0FFF") == "<U+FFFE><U+E0FFF>");
}

TEST_CASE("emoji sequences stay whole") {
  CHECK(sanitise(
            "👩‍👩‍👧 ❤️ 🇩🇪 👍🏽 👩🏽‍🚀 1️⃣ 🏳️‍🌈") ==
        "👩‍👩‍👧 ❤️ 🇩🇪 👍🏽 👩🏽‍🚀 1️⃣ 🏳️‍🌈");
  CHECK(sanitise("👩\u200D") == "👩<U+200D>");
  CHECK(sanitise("👩\u200Dx") == "👩<U+200D>x");
  CHECK(sanitise("👩\u200D\u200D👧") == "👩<U+200D><U+200D>👧");
  CHECK(sanitise("❤\uFE0F\uFE0F") == "❤\uFE0F<U+FE0F>");
}

TEST_CASE("a mark with nothing to stand on stands on a circle") {
  CHECK(sanitise("\u0301a") == "◌\u0301a");
  CHECK(sanitise("a \u0301") == "a ◌\u0301");
  CHECK(sanitise("\n\u0301") == "␊◌\u0301");
  CHECK(sanitise("\u093E") == "◌\u093E");
}

TEST_CASE("marks do not pile up over the lines above") {
  CHECK(sanitise("a\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301") ==
        "a\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301◌\u0301");
}

TEST_CASE("bytes that are no UTF-8 show as �, one each") {
  CHECK(sanitise("caf\xe9") == "caf�");
  CHECK(sanitise("\xe2\x82") == "��");
  CHECK(sanitise("\xc0\xaf") == "��");       // "/" written too long
  CHECK(sanitise("\xed\xa0\x80") == "���");  // half of a surrogate pair
  CHECK(sanitise("\xff\x1b"
                 "c") == "�␛c");
}

TEST_CASE("text made visible twice is the same") {
  CHECK(sanitise(sanitise("\u202E\u0301\x1b\xff 👩‍👧")) ==
        sanitise("\u202E\u0301\x1b\xff 👩‍👧"));
}

TEST_CASE("blanks at the ends of a token show") {
  CHECK(sanitise_label(" cat") == "␣cat");
  CHECK(sanitise_label("fat cat  ") == "fat cat␣␣");
  CHECK(sanitise_label("  ") == "␣␣");
  CHECK(sanitise_label("\n") == "␊");
  CHECK(sanitise_label("") == "");
}

TEST_CASE("JSON keeps what it says and hides nothing") {
  CHECK(qkv::sanitise_json("{\"a\": \"é · √2\"}\n") == "{\"a\": \"é · √2\"}\n");
  CHECK(qkv::sanitise_json("\"\u009b31m\u202e\"") == "\"\\u009B31m\\u202E\"");
  CHECK(qkv::sanitise_json("\"\U000E0041\"") == "\"\\uDB40\\uDC41\"");
  CHECK(qkv::sanitise_json("\"\xff\"") == "\"\uFFFD\"");
}

}  // namespace text_visible_tests
