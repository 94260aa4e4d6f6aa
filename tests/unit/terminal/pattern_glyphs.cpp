#include "terminal/grid.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

namespace terminal_pattern_glyphs_tests {

using qkv::glyphs;
using qkv::glyphs_below;
using qkv::glyphs_beside;
using qkv::grid;
using qkv::MatrixLabels;
using qkv::PatternGlyphs;

namespace {

using Values = std::vector<double>;
using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("a dot grows with its weight") {
  CHECK(glyphs(1, 5, Values{0, 0.01, 0.05, 0.3, 1}).rows == Lines{"│  · • ● ●│"});
}

TEST_CASE("a weight of exactly 0 is blank, however small the others are") {
  CHECK(glyphs(2, 2, Values{1, 0, 1e-300, 1}).rows == Lines{"│●  │", "│· ●│"});
}

TEST_CASE("just below a limit is the smaller dot") {
  CHECK(glyphs(1, 2, Values{0.0499, 0.2999}).rows == Lines{"│· •│"});
}

TEST_CASE("numbers that are no weights get no dots") {
  CHECK(glyphs(1, 2, Values{0.5, -0.1}).rows.empty());
  CHECK(glyphs(1, 2, Values{0.5, 1.5}).rows.empty());
  CHECK(glyphs(1, 1, Values{std::numeric_limits<double>::quiet_NaN()}).rows.empty());
  CHECK(glyphs(0, 0, Values{}).rows.empty());
}

TEST_CASE("a matrix of more than 32 rows or columns gets no dots") {
  CHECK(glyphs(32, 32, Values(32 * 32, 0.5)).rows.size() == 32);
  CHECK(glyphs(33, 1, Values(33, 0.5)).rows.empty());
  CHECK(glyphs(1, 33, Values(33, 0.5)).rows.empty());
}

TEST_CASE("the first letters of the columns stand over their dots") {
  CHECK(glyphs(1, 3, Values{1, 0, 1}, {"the", "fat", "cat"}).header == " t f c");
  CHECK(glyphs(1, 3, Values{1, 0, 1}, {"猫", "e\u0301t", " on"}).header == " 猫e\u0301 ␣");
  CHECK(glyphs(1, 2, Values{1, 0}).header == " 1 2");
  CHECK(glyphs(1, 3, Values{1, 0, 1}, {"the", "cat", "the"}).header == " t c t");
}

TEST_CASE("where letters don't say which column it is, the ends of its number do") {
  CHECK(glyphs(1, 3, Values{1, 0, 1}, {"t1", "t2", "t3"}).header == " 1 2 3");
  CHECK(glyphs(1, 3, Values{1, 0, 1}, {"cat", "naps", "<pad>"}).header == " 1 2 3");
  const std::vector<std::string> alike = {"a1", "a2", "a3", "a4",  "a5", "a6",
                                          "a7", "a8", "a9", "a10", "a11"};
  CHECK(glyphs(1, 11, Values(11, 0.5), alike).header == " 1 2 3 4 5 6 7 8 9 0 1");
}

TEST_CASE("the dots stand to the right of the numbers, row by row") {
  const Values weights = {1, 0, 0.25, 0.75};
  const std::string plain = grid(2, 2, weights, {{"the", "cat"}, {"the", "cat"}}, {}).text;
  CHECK(glyphs_beside(plain, glyphs(2, 2, weights, {"the", "cat"}), 80) ==
        "        the   cat    t c\n"
        "  the  1.00  0      │●  │\n"
        "  cat  0.25  0.75   │• ●│\n");
}

TEST_CASE("wide letters don't push the dots out of line") {
  const Values weights = {1, 0, 0.5, 0.5};
  const std::vector<std::string> words = {"猫", "the"};
  const std::string plain = grid(2, 2, weights, {words, words}, {}).text;
  CHECK(glyphs_beside(plain, glyphs(2, 2, weights, words), 80) ==
        "        猫  the    猫t\n"
        "  猫   1.0  0     │●  │\n"
        "  the  0.5  0.5   │● ●│\n");
}

TEST_CASE("colours don't count when the dots are lined up") {
  CHECK(glyphs_beside("\x1b[1mhead\x1b[0m\n\x1b[1mrow\x1b[0m\n", {"", {"│●│"}}, 80) ==
        "\x1b[1mhead\x1b[0m\n\x1b[1mrow\x1b[0m    │●│\n");
}

TEST_CASE("where the terminal is too narrow, or rows are hidden, nothing stands beside") {
  const PatternGlyphs one{"", {"│●│"}};
  CHECK(glyphs_beside("head\nrow\n", one, 10) == "head\nrow    │●│\n");
  CHECK(glyphs_beside("head\nrow\n", one, 9).empty());
  CHECK(glyphs_beside("head\nrow\n⋮\nrow\n", one, 80).empty());
  CHECK(glyphs_beside("head\nrow\n", {}, 80).empty());
}

TEST_CASE("below the numbers each row of dots has its label, or its index") {
  CHECK(glyphs_below({" t 猫", {"│●  │", "│• ●│"}}, {"the", "猫"}) ==
        "         t 猫\n"
        "  the   │●  │\n"
        "  猫    │• ●│\n");
  CHECK(glyphs_below({" 1", {"│●│"}}, {}) == "       1\n  1   │●│\n");
}

}  // namespace terminal_pattern_glyphs_tests
