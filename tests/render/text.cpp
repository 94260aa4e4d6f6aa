#include "render/text.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

using qkv::padded_centre;
using qkv::padded_left;
using qkv::padded_right;
using qkv::shortened;
using qkv::visible;
using qkv::visible_label;
using qkv::visible_prose;
using qkv::width;
using qkv::wrapped;

using Lines = std::vector<std::string>;

// ---- visible ---------------------------------------------------------------------------------

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

// ---- width -----------------------------------------------------------------------------------

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

// ---- padding and shortening ------------------------------------------------------------------

TEST_CASE("padding counts columns, not bytes") {
  CHECK(padded_left("猫", 5) == "   猫");
  CHECK(padded_right("e\u0301", 3) == "e\u0301  ");
  CHECK(padded_centre("🇩🇪", 5) == " 🇩🇪  ");
  CHECK(padded_left("too wide", 3) == "too wide");
  CHECK(padded_right("too wide", 3) == "too wide");
  CHECK(padded_centre("too wide", 3) == "too wide");
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

// ---- wrapping --------------------------------------------------------------------------------

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

TEST_CASE("JSON keeps what it says and hides nothing") {
  CHECK(qkv::visible_json("{\"a\": \"é · √2\"}\n") == "{\"a\": \"é · √2\"}\n");
  CHECK(qkv::visible_json("\"\u009b31m\u202e\"") == "\"\\u009B31m\\u202E\"");
  CHECK(qkv::visible_json("\"\U000E0041\"") == "\"\\uDB40\\uDC41\"");
  CHECK(qkv::visible_json("\"\xff\"") == "\"\uFFFD\"");
}
