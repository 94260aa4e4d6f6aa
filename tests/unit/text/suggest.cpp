#include "text/strings.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace text_suggest_tests {

using qkv::suggest;

namespace {

constexpr std::array<std::string_view, 9> steps = {
    "X", "Q", "K", "scores", "scaled_scores", "attention_weights", "context", "W_Q", "output"};

}  // namespace

TEST_CASE("one typing slip leads to the name that was meant") {
  CHECK(suggest("score", steps) == "scores");    // missing
  CHECK(suggest("scoress", steps) == "scores");  // too many
  CHECK(suggest("scopes", steps) == "scores");   // wrong
  CHECK(suggest("csores", steps) == "scores");   // exchanged with the next
  CHECK(suggest("scaled_socres", steps) == "scaled_scores");
}

TEST_CASE("two exchanged letters are one slip, not two") {
  CHECK(suggest("ab", std::array<std::string_view, 2>{"bac", "ba"}) == "ba");
}

TEST_CASE("capitals are no slip") {
  CHECK(suggest("w_q", steps) == "W_Q");
  CHECK(suggest("q", steps) == "Q");
  CHECK(suggest("ÉTÉ", std::array<std::string_view, 2>{"thé", "été"}) == "été");
}

TEST_CASE("a part of exactly one name leads to it") {
  CHECK(suggest("weights", steps) == "attention_weights");
  CHECK(suggest("attention", steps) == "attention_weights");
}

TEST_CASE("a word of exactly one name leads to it, with a slip too") {
  CHECK(suggest("atention", steps) == "attention_weights");
  CHECK(suggest("wieghts", steps) == "attention_weights");
  CHECK(suggest("scaled", steps) == "scaled_scores");
  CHECK(suggest("nrom", std::vector<std::string>{"first_norm", "second_norm"}) == "");
}

TEST_CASE("a part of several names leads to none") {
  const std::array<std::string_view, 2> norms = {"first_layer_norm", "second_layer_norm"};
  CHECK(suggest("norm", norms) == "");
}

TEST_CASE("what is near nothing gets no suggestion") {
  CHECK(suggest("transformer", steps) == "");
  CHECK(suggest("V", steps) == "");  // one letter wrong of one letter is another name
  CHECK(suggest("", steps) == "");
  CHECK(suggest("scores", std::vector<std::string>{}) == "");
}

TEST_CASE("the fewest slips win, and the first of equals") {
  CHECK(suggest("step_2", std::vector<std::string>{"step_10", "step_1", "step_3"}) == "step_1");
}

TEST_CASE("an accented letter is one letter, and bytes that are no UTF-8 do no harm") {
  CHECK(suggest("konig", std::vector<std::string>{"könig"}) == "könig");
  CHECK(suggest("sc\xff"
                "res",
                steps) == "scores");
}

TEST_CASE("no more slips are looked for than a name of its length may have") {
  const std::array<std::string_view, 1> one = {"abcdefghijkl"};  // of twelve letters three
  CHECK(suggest("xabcdefghijkl", one) == one[0]);
  CHECK(suggest("xyzabcdefghijkl", one) == one[0]);
  CHECK(suggest("abcdefghijklxyz", one) == one[0]);
  CHECK(suggest("defghijkl", one) == one[0]);
  CHECK(suggest("bacdefhgijlk", one) == one[0]);
  CHECK(suggest("bacdefhgjilk", one).empty());
  CHECK(suggest("wxyzabcdefghijkl", std::array<std::string_view, 2>{"abcdefghijkl", "q"}).empty());
}

TEST_CASE("of thousands of names, and of names of thousands of letters, few are looked at") {
  std::vector<std::string> names(100'000, "some_name_or_other");
  names.front() = "scores";
  for (int wrong = 0; wrong < 1000; ++wrong) CHECK(suggest("scorse", names) == "scores");
  const std::vector<std::string> long_names(100, std::string(100'000, 'x'));
  CHECK(suggest(std::string(100'000, 'y'), long_names).empty());
}

}  // namespace text_suggest_tests
