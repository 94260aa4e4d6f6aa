#include "page/html.hpp"

#include <catch2/catch.hpp>

using namespace qkv;

TEST_CASE("a label from the right stands by itself among what runs from the left") {
  CHECK(html_isolated("Q[החתול,1] < 2") == "Q[<bdi>החתול</bdi>,1] &lt; 2");
  CHECK(html_isolated("Q[החתול השמן,ישן]") == "Q[<bdi>החתול השמן</bdi>,<bdi>ישן</bdi>]");
  CHECK(html_isolated("Q[cat,1]") == "Q[cat,1]");
}

TEST_CASE("in a text from the right cells and signed numbers stand by themselves") {
  const BidiText own = bidi_text("המספר Q[החתול,1] הוא −2.");
  CHECK(own.attributes == " dir=\"rtl\" lang=\"he\"");
  CHECK(own.html ==
        "המספר <bdi dir=\"ltr\">Q[<bdi>החתול</bdi>,1]</bdi> הוא <bdi dir=\"ltr\">−2.</bdi>");
}

TEST_CASE("the letters tell the language, most of them the direction") {
  CHECK(bidi_text("القط السمين").attributes == " dir=\"rtl\" lang=\"ar\"");
  CHECK(bidi_text("the word חתול in a sentence").attributes.empty());
  CHECK(bidi_text("12 + 3").attributes.empty());
  CHECK(html_inline("חתול") == "<bdi dir=\"rtl\" lang=\"he\">חתול</bdi>");
}
