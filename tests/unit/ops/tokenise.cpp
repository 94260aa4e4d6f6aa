#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "support/calls.hpp"
#include "tokens/tokens.hpp"

namespace ops_tokenise_tests {

using namespace qkv::test;
using Tokens = std::vector<std::string>;

TEST_CASE("words are runs of letters, digits and apostrophes; other marks stand alone") {
  CHECK(qkv::words_of("the fat cat") == Tokens{"the", "fat", "cat"});
  CHECK(qkv::words_of("The cat's mat, 2 x 3.") ==
        Tokens{"The", "cat's", "mat", ",", "2", "x", "3", "."});
  CHECK(qkv::words_of("don’t stop") == Tokens{"don’t", "stop"});
  CHECK(qkv::words_of("(well-known)") == Tokens{"(", "well", "-", "known", ")"});
  CHECK(qkv::words_of("a\tb\n c\u00a0d") == Tokens{"a", "b", "c", "d"});
  CHECK(qkv::words_of("snake_case") == Tokens{"snake", "_", "case"});
  CHECK(qkv::words_of(" \n") == Tokens{});
}

TEST_CASE("an accent is part of its word, however it is encoded") {
  CHECK(qkv::words_of("caf\u00e9 cafe\u0301") == Tokens{"caf\u00e9", "cafe\u0301"});
  CHECK(qkv::words_of("देवनागरी लिपि") == Tokens{"देवनागरी", "लिपि"});
}

TEST_CASE("a word is one token, however its accents are encoded") {
  const auto ids = apply("tokenise", {}, {}, text_environment("caf\u00e9 cafe\u0301"));
  CHECK(ids.values == std::vector<double>{0, 0});
}

TEST_CASE("characters are what a person counts, blanks included") {
  CHECK(qkv::characters_of("a b") == Tokens{"a", " ", "b"});
  CHECK(qkv::characters_of("e\u0301!") == Tokens{"e\u0301", "!"});
  CHECK(qkv::characters_of("👩‍👩‍👧x") == Tokens{"👩‍👩‍👧", "x"});
  CHECK(qkv::characters_of("🇩🇪🇫🇷") == Tokens{"🇩🇪", "🇫🇷"});
}

TEST_CASE("without a vocabulary the ids count the distinct tokens in order of appearance") {
  const auto ids = apply("tokenise", {}, {}, text_environment("the fat cat sat on the mat"));
  CHECK(ids.shape() == qkv::Shape{7});
  CHECK(ids.values == std::vector<double>{0, 1, 2, 3, 4, 0, 5});
  CHECK(ids.axes[0].name == "token");
  CHECK(ids.axes[0].labels == Tokens{"the", "fat", "cat", "sat", "on", "the", "mat"});
}

TEST_CASE("with a vocabulary an id is the token's place in it, from 0") {
  CHECK(apply("tokenise", {}, {}, text_environment("mat the", {"the", "fat", "mat"})).values ==
        std::vector<double>{2, 0});
}

const std::string remedy =
    " A lesson file of your own may have more (vocabulary = […]); for a model they are given with "
    "--vocabulary";

TEST_CASE("a token that the vocabulary lacks is refused by name") {
  CHECK(refusal("tokenise", {}, {}, text_environment("the dog", {"the", "fat", "mat"})) ==
        "step: \"dog\" is not in the vocabulary (the, fat, mat); write the text in these words." +
            remedy);
  Tokens many;
  for (char c = 'a'; c <= 'z'; ++c) many.emplace_back(1, c);
  CHECK(refusal("tokenise", {}, {}, text_environment("dog", many)) ==
        "step: \"dog\" is not in the vocabulary (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, "
        "q, r, s, t, u, v, w, x, …); write the text in these words." +
            remedy);
}

TEST_CASE("a slip of the keys in a token is told with the word that was meant") {
  CHECK(refusal("tokenise", {}, {}, text_environment("the fluffi", {"the", "fluffy", "mat"})) ==
        "step: \"fluffi\" is not in the vocabulary (the, fluffy, mat); did you mean \"fluffy\"? "
        "Else write the text in these words." +
            remedy);
}

TEST_CASE("lowercase makes capitals small before the vocabulary is asked") {
  const OptionMap lower = {{"lowercase", true}};
  CHECK(apply("tokenise", {}, lower, text_environment("The ÉTÉ the", {"the", "été"})).values ==
        std::vector<double>{0, 1, 0});
  CHECK(apply("tokenise", {}, lower, text_environment("The the")).axes[0].labels ==
        Tokens{"the", "the"});
  CHECK(refusal("tokenise", {}, {}, text_environment("The", {"the"})) ==
        "step: \"The\" is not in the vocabulary (the); did you mean \"the\"? Else write the text "
        "in these words." +
            remedy);
}

TEST_CASE("method characters makes a token of each character") {
  const auto ids =
      apply("tokenise", {}, {{"method", std::string("characters")}}, text_environment("abba"));
  CHECK(ids.values == std::vector<double>{0, 1, 1, 0});
  CHECK(ids.axes[0].labels == Tokens{"a", "b", "b", "a"});
}

TEST_CASE("a list of texts is a batch, filled up with padding to the longest") {
  const auto ids = apply("tokenise", {}, {}, texts({"life is short", "so be it now"}));
  CHECK(ids.shape() == qkv::Shape{2, 4});
  CHECK(difference(rows_of(ids), {{0, 1, 2, 7}, {3, 4, 5, 6}}) == "");
  CHECK(ids.axes[0].name == "batch");
  CHECK(ids.axes[1].label(2, 0) == "short");
  CHECK(ids.axes[1].label(3, 0) == "<pad>");
  CHECK(ids.axes[1].label(3, 1) == "now");
}

TEST_CASE("texts of one length need no padding token") {
  CHECK(difference(rows_of(apply("tokenise", {}, {}, texts({"a b", "b a"}))), {{0, 1}, {1, 0}}) ==
        "");
  CHECK(apply("tokenise", {}, {}, texts({"one text"})).shape() == qkv::Shape{1, 2});
}

TEST_CASE("the padding may be a token of the vocabulary or an id") {
  CHECK(difference(rows_of(apply("tokenise", {}, {{"pad", std::string("PAD")}},
                                 texts({"a", "b a"}, {"PAD", "a", "b"}))),
                   {{1, 0}, {2, 1}}) == "");
  CHECK(difference(rows_of(apply("tokenise", {}, {{"pad", 9.0}}, texts({"a", "b a"}, {"a", "b"}))),
                   {{0, 9}, {1, 0}}) == "");
  CHECK(refusal("tokenise", {}, {}, texts({"a", "b a"}, {"a", "b"})) ==
        "step: \"<pad>\" is not in the vocabulary (a, b); write the text in these words." + remedy);
}

TEST_CASE("an empty text is refused, and so is none") {
  CHECK(refusal("tokenise", {}, {}, text_environment("")) ==
        "step: the text is empty; give it at least one word");
  CHECK(refusal("tokenise", {}, {}, text_environment(" \n\t")) ==
        "step: the text is empty; give it at least one word");
  CHECK(refusal("tokenise", {}, {}, texts({"a", ""})) ==
        "step: the text is empty; give it at least one word");
  CHECK(refusal("tokenise", {}) ==
        "step: there is no text to tokenise; write text = \"the fat cat\" at the top of the "
        "lesson");
}

TEST_CASE("a text that is not UTF-8 is refused") {
  CHECK(refusal("tokenise", {}, {}, text_environment("caf\xe9")) ==
        "the text is not UTF-8; save it as UTF-8 and try again");
}

}  // namespace ops_tokenise_tests
