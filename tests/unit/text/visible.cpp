#include "text/escape.hpp"

#include <catch2/catch.hpp>

using qkv::visible;
using qkv::visible_label;
using qkv::visible_prose;

TEST_CASE("plain words of any language stay as they are") {
  CHECK(visible("the fat cat, d_k = 2") == "the fat cat, d_k = 2");
  CHECK(visible("猫がマットの上に座った") == "猫がマットの上に座った");
  CHECK(visible("القطة السمينة") == "القطة السمينة");
  CHECK(visible("नमस्ते") == "नमस्ते");
  CHECK(visible("e\u0301te\u0301") == "e\u0301te\u0301");
  CHECK(visible("√d_k · Qᵀ … — “x”") == "√d_k · Qᵀ … — “x”");
}

TEST_CASE("an escape sequence shows and does nothing") {
  CHECK(visible("\x1b[2J\x1b]0;title\x07") == "␛[2J␛]0;title␇");
  CHECK(visible(std::string("a\0b", 3)) == "a␀b");
  CHECK(visible("\x7f") == "␡");
  CHECK(visible("\u009b31m") == "<U+009B>31m");  // the same as ESC [ in one character
}

TEST_CASE("a label has no line breaks and no tabs") {
  CHECK(visible("a\nb\tc\r") == "a␊b␉c␍");
  CHECK(visible("a\u2028b\u2029c\u0085") == "a<U+2028>b<U+2029>c<U+0085>");
}

TEST_CASE("prose keeps its line breaks, and a tab is four blanks") {
  CHECK(visible_prose("a\n\nb\r\nc\td\x1b[m") == "a\n\nb\nc    d␛[m");
  CHECK(visible_prose("a\rb") == "a␍b");
}

TEST_CASE("nothing turns the reading direction") {
  CHECK(visible("\u202Etac") == "<U+202E>tac");
  CHECK(visible("a\u2066b\u2069\u200F\u061C") == "a<U+2066>b<U+2069><U+200F><U+061C>");
}

TEST_CASE("what has no width shows") {
  CHECK(visible("ca\u200Bt") == "ca<U+200B>t");
  CHECK(visible("ca\u200Dt") == "ca<U+200D>t");
  CHECK(visible("\uFEFFcat") == "<U+FEFF>cat");
  CHECK(visible("co\u00ADop") == "co<U+00AD>op");
  CHECK(visible("a\uFE0F") == "a<U+FE0F>");
  CHECK(visible("x\U000E0041") == "x<U+E0041>");
  CHECK(visible("\u3164") == "<U+3164>");  // a Korean letter drawn as nothing
  CHECK(visible("\uFFFE\U000E0FFF") == "<U+FFFE><U+E0FFF>");
}

TEST_CASE("emoji sequences stay whole") {
  CHECK(visible(
            "👩‍👩‍👧 ❤️ 🇩🇪 👍🏽 👩🏽‍🚀 1️⃣ 🏳️‍🌈") ==
        "👩‍👩‍👧 ❤️ 🇩🇪 👍🏽 👩🏽‍🚀 1️⃣ 🏳️‍🌈");
  CHECK(visible("👩\u200D") == "👩<U+200D>");
  CHECK(visible("👩\u200Dx") == "👩<U+200D>x");
  CHECK(visible("👩\u200D\u200D👧") == "👩<U+200D><U+200D>👧");
  CHECK(visible("❤\uFE0F\uFE0F") == "❤\uFE0F<U+FE0F>");
}

TEST_CASE("a mark with nothing to stand on stands on a circle") {
  CHECK(visible("\u0301a") == "◌\u0301a");
  CHECK(visible("a \u0301") == "a ◌\u0301");
  CHECK(visible("\n\u0301") == "␊◌\u0301");
  CHECK(visible("\u093E") == "◌\u093E");
}

TEST_CASE("marks do not pile up over the lines above") {
  CHECK(visible("a\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301") ==
        "a\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301◌\u0301");
}

TEST_CASE("bytes that are no UTF-8 show as �, one each") {
  CHECK(visible("caf\xe9") == "caf�");
  CHECK(visible("\xe2\x82") == "��");
  CHECK(visible("\xc0\xaf") == "��");       // "/" written too long
  CHECK(visible("\xed\xa0\x80") == "���");  // half of a surrogate pair
  CHECK(visible("\xff\x1b"
                "c") == "�␛c");
}

TEST_CASE("text made visible twice is the same") {
  CHECK(visible(visible("\u202E\u0301\x1b\xff 👩‍👧")) ==
        visible("\u202E\u0301\x1b\xff 👩‍👧"));
}

TEST_CASE("blanks at the ends of a token show") {
  CHECK(visible_label(" cat") == "␣cat");
  CHECK(visible_label("fat cat  ") == "fat cat␣␣");
  CHECK(visible_label("  ") == "␣␣");
  CHECK(visible_label("\n") == "␊");
  CHECK(visible_label("") == "");
}

TEST_CASE("JSON keeps what it says and hides nothing") {
  CHECK(qkv::visible_json("{\"a\": \"é · √2\"}\n") == "{\"a\": \"é · √2\"}\n");
  CHECK(qkv::visible_json("\"\u009b31m\u202e\"") == "\"\\u009B31m\\u202E\"");
  CHECK(qkv::visible_json("\"\U000E0041\"") == "\"\\uDB40\\uDC41\"");
  CHECK(qkv::visible_json("\"\xff\"") == "\"\uFFFD\"");
}
