#include "terminal/grid.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "text/unicode.hpp"

namespace terminal_grid_tests {

using qkv::grid;
using qkv::Grid;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

using Values = std::vector<double>;

/// 1, 2, 3, … in halves, so that they have decimals.
Values halves(std::size_t count) {
  Values values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<double>(i + 1) / 2;
  return values;
}

std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    widest = std::max(widest, qkv::width(text.substr(at, end - at)));
    at = end + 1;
  }
  return widest;
}

}  // namespace

TEST_CASE("a matrix without labels shows indices from 1") {
  const Grid shown = grid(2, 3, Values{1, 0, -1, 20, 2, 0}, {}, {});
  CHECK(shown.text ==
        "      1  2   3\n"
        "  1   1  0  -1\n"
        "  2  20  2   0\n");
  CHECK(shown.rows.hidden() == 0);
  CHECK(shown.columns.hidden() == 0);
  CHECK(shown.rows.first_hidden() == 0);
  CHECK(shown.columns.first_hidden() == 0);
}

TEST_CASE("row labels stand on the left, headers over the right end of their columns") {
  CHECK(grid(2, 2, Values{0.25, 0.75, 1.5, 10}, {{"the", "fat cat"}, {"life", "short"}}, {}).text ==
        "           life  short\n"
        "  the      0.25   0.75\n"
        "  fat cat  1.50  10.00\n");
}

TEST_CASE("indices of rows stand on the right, as numbers do") {
  CHECK(grid(10, 1, Values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {}, {.max_rows = 4}).text ==
        "       1\n"
        "   1   1\n"
        "   2   2\n"
        "   ⋮   ⋮\n"
        "  10  10\n");
}

TEST_CASE("numbers align at the decimal point; what has none ends where they end") {
  CHECK(grid(3, 3, Values{1.5, -inf, -inf, 0, 12.25, -inf, -0.125, 1e-9, not_a_number}, {}, {})
            .text ==
        "           1        2     3\n"
        "  1   1.5000     -inf  -inf\n"
        "  2   0       12.2500  -inf\n"
        "  3  -0.1250   0.0000   nan\n");
}

TEST_CASE("hidden rows of a column without any number show too") {
  CHECK(grid(3, 2, Values{0.5, -inf, 0.5, -inf, 0.5, -inf}, {}, {.max_rows = 2}).text ==
        "       1     2\n"
        "  1  0.5  -inf\n"
        "  ⋮  ⋮       ⋮\n"
        "  3  0.5  -inf\n");
}

TEST_CASE("digits sets the decimals") {
  CHECK(grid(1, 2, Values{0.15, 2}, {}, {.digits = 1}).text ==
        "       1    2\n"
        "  1  0.2  2.0\n");
  CHECK(grid(1, 2, Values{0.15, -2}, {}, {.digits = 0}).text ==
        "     1   2\n"
        "  1  0  -2\n");
}

TEST_CASE("one huge number puts the whole matrix into exponents") {
  CHECK(grid(2, 2, Values{0.5, -1e9, 0, -inf}, {}, {.digits = 2}).text ==
        "            1          2\n"
        "  1  5.00e-01  -1.00e+09\n"
        "  2  0              -inf\n");
}

TEST_CASE("numbers align by what a terminal shows, in any script") {
  CHECK(grid(5, 2, Values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10},
             {{"猫", "👩‍👩‍👧", "cafe\u0301", "قطة", "❤️"}, {"🇩🇪", "マット"}}, {})
            .text ==
        "        🇩🇪  マット\n"
        "  猫     1       2\n"
        "  👩‍👩‍👧     3       4\n"
        "  cafe\u0301   5       6\n"
        "  قطة    7       8\n"
        "  ❤️     9      10\n");
}

TEST_CASE("a label from a file does nothing to the terminal") {
  CHECK(grid(2, 2, Values{1, 2, 3, 4}, {{"\x1b[2J", "\u202Ex"}, {"a\nb", "\xff"}}, {}).text ==
        "             a␊b  �\n"
        "  ␛[2J         1  2\n"
        "  <U+202E>x    3  4\n");
}

TEST_CASE("an empty label is shown as its index, a blank one as a blank") {
  CHECK(grid(3, 1, Values{1, 2, 3}, {{"", " ", " a"}, {}}, {}).text ==
        "      1\n"
        "   1  1\n"
        "  ␣   2\n"
        "  ␣a  3\n");
}

TEST_CASE("long labels are shortened") {
  const Grid shown =
      grid(1, 2, Values{1, 2}, {{"antidisestablishmentarianism"}, {"supercalifragilistic", "b"}},
           {.width = 31});
  CHECK(shown.text ==
        "                  supercali…  b\n"
        "  antidisestabl…           1  2\n");
}

TEST_CASE("a row's label is whole where every column fits beside it") {
  CHECK(grid(1, 2, Values{1, 2}, {{"miniature Eiffel tower"}, {}}, {.width = 30}).text ==
        "                          1  2\n"
        "  miniature Eiffel tower  1  2\n");
}

TEST_CASE("long whole numbers show whole, or with exponents where they would hide a column") {
  CHECK(grid(1, 2, Values{603979776, 96}, {}, {}).text ==
        "               1   2\n"
        "  1  603,979,776  96\n");
  CHECK(grid(1, 2, Values{603979776, 603979776}, {}, {.width = 28, .digits = 2}).text ==
        "            1         2\n"
        "  1  6.04e+08  6.04e+08\n");
}

TEST_CASE("a matrix too wide for the terminal loses its middle columns") {
  const Grid shown = grid(2, 20, halves(40), {{"the", "cat"}, {}}, {.width = 40});
  CHECK(shown.text ==
        "          1     2     3  …    19    20\n"
        "  the   0.5   1.0   1.5  …   9.5  10.0\n"
        "  cat  10.5  11.0  11.5  …  19.5  20.0\n");
  CHECK(shown.columns.hidden() == 15);
  CHECK(shown.columns.first_hidden() == 4);
}

TEST_CASE("as many columns show as there is room for") {
  const Grid at80 = grid(1, 30, Values(30, 0.1234), {}, {.width = 80});
  CHECK(at80.text ==
        "          1       2       3       4       5  …      27      28      29      30\n"
        "  1  0.1234  0.1234  0.1234  0.1234  0.1234  …  0.1234  0.1234  0.1234  0.1234\n");
  CHECK(at80.columns.hidden() == 21);
  CHECK(grid(1, 24, Values(24, 0.1234), {}, {.width = 200}).columns.hidden() == 0);
  CHECK(grid(1, 25, Values(25, 0.1234), {}, {.width = 200}).columns.hidden() == 1);
}

TEST_CASE("a matrix that just fits shows whole") {
  CHECK(grid(1, 3, Values{1, 2, 3}, {}, {.width = 12}).text ==
        "     1  2  3\n"
        "  1  1  2  3\n");
}

TEST_CASE("the first and the last column show at 40 columns, whatever the labels and numbers") {
  const Values values = {-9876543.1234, 1, 2, -9876543.1234};
  const Grid shown = grid(
      1, 4, values, {{"antidisestablishmentarianism"}, {"one", "2", "3", "four"}}, {.width = 40});
  CHECK(shown.text ==
        "                   one  …           four\n"
        "  anti…  -9876543.1234  …  -9876543.1234\n");
  CHECK(widest_line(shown.text) == 40);
}

TEST_CASE("two columns that do not fit show all the same") {
  CHECK(grid(1, 2, Values{0.5, 0.5}, {{"embedding"}, {}}, {.width = 10}).text ==
        "         1    2\n"
        "  em…  0.5  0.5\n");
}

TEST_CASE("a matrix of too many rows loses its middle rows") {
  const Grid shown = grid(1000, 2, halves(2000), {}, {.max_rows = 6});
  CHECK(shown.text ==
        "            1       2\n"
        "     1    0.5     1.0\n"
        "     2    1.5     2.0\n"
        "     3    2.5     3.0\n"
        "     ⋮    ⋮       ⋮\n"
        "   999  998.5   999.0\n"
        "  1000  999.5  1000.0\n");
  CHECK(shown.rows.hidden() == 995);
  CHECK(shown.rows.first_hidden() == 4);
}

TEST_CASE("a matrix too large both ways shows its corners") {
  const Grid shown = grid(9, 9, halves(81), {}, {.width = 20, .max_rows = 3});
  CHECK(shown.text ==
        "        1  …     9\n"
        "  1   0.5  …   4.5\n"
        "  ⋮   ⋮    ⋱   ⋮\n"
        "  9  36.5  …  40.5\n");
  CHECK(shown.rows.hidden() == 7);
  CHECK(shown.columns.hidden() == 7);
}

TEST_CASE("what is hidden still decides the style") {
  CHECK(grid(4, 1, Values{1, 2, 2.5, 3}, {}, {.digits = 1, .max_rows = 3}).text ==
        "       1\n"
        "  1  1.0\n"
        "  ⋮  ⋮\n"
        "  4  3.0\n");
}

TEST_CASE("a matrix with thousands of rows and columns is shown at once") {
  const Grid shown = grid(5000, 4000, Values(20'000'000, 0.1234), {}, {.width = 40, .max_rows = 3});
  CHECK(shown.text ==
        "             1       2  …    4000\n"
        "     1  0.1234  0.1234  …  0.1234\n"
        "     ⋮  ⋮       ⋮       ⋱  ⋮\n"
        "  5000  0.1234  0.1234  …  0.1234\n");
}

TEST_CASE("of a large matrix only the rows that show are asked for") {
  std::set<std::size_t> asked;
  const Values row(4000, 0.5);
  const qkv::RowAt row_at = [&](std::size_t r) {
    asked.insert(r);
    return std::span<const double>(row);
  };
  CHECK(grid(5000, 4000, row_at, {}, {.width = 30, .max_rows = 3}).text ==
        "          1    2  …  4000\n"
        "     1  0.5  0.5  …   0.5\n"
        "     ⋮  ⋮    ⋮    ⋱   ⋮\n"
        "  5000  0.5  0.5  …   0.5\n");
  CHECK(asked == std::set<std::size_t>{0, 4999});
}

TEST_CASE("a matrix without cells says so") {
  CHECK(grid(0, 3, Values{}, {}, {}).text == "  (empty: 0×3)\n");
  CHECK(grid(2, 0, Values{}, {{"a", "b"}, {}}, {}).text == "  (empty: 2×0)\n");
}

TEST_CASE("values of another size are a fault of the program") {
  CHECK_THROWS_AS(grid(2, 2, Values{1, 2, 3}, {}, {}), std::logic_error);
}

TEST_CASE("in colour, non-negative numbers go from white to dark blue") {
  CHECK(grid(2, 2, Values{0, 0.5, 1, 0.25}, {{"a", "b"}, {}}, {.digits = 2, .colour = true}).text ==
        "        \x1b[1m1\x1b[0m     \x1b[1m2\x1b[0m\x1b[0m\n"
        "  \x1b[1ma\x1b[0m  \x1b[48;5;231;38;5;16m0   \x1b[0m  "
        "\x1b[48;5;111;38;5;16m0.50\x1b[0m\x1b[0m\n"
        "  \x1b[1mb\x1b[0m  \x1b[48;5;18;38;5;231m1.00\x1b[0m  "
        "\x1b[48;5;153;38;5;16m0.25\x1b[0m\x1b[0m\n");
}

TEST_CASE("in colour, signed numbers go from blue over white to brown, and -inf has no shade") {
  CHECK(grid(1, 4, Values{-2, 0, 2, -inf}, {}, {.colour = true}).text ==
        "      \x1b[1m1\x1b[0m  \x1b[1m2\x1b[0m  \x1b[1m3\x1b[0m     \x1b[1m4\x1b[0m\x1b[0m\n"
        "  \x1b[1m1\x1b[0m  \x1b[48;5;18;38;5;231m-2\x1b[0m  \x1b[48;5;231;38;5;16m0\x1b[0m  "
        "\x1b[48;5;88;38;5;231m2\x1b[0m  \x1b[2m-inf\x1b[0m\x1b[0m\n");
}

TEST_CASE("a matrix of zeros has one shade") {
  CHECK(grid(1, 1, Values{0}, {}, {.colour = true}).text ==
        "     \x1b[1m1\x1b[0m\x1b[0m\n"
        "  \x1b[1m1\x1b[0m  \x1b[48;5;231;38;5;16m0\x1b[0m\x1b[0m\n");
}

}  // namespace terminal_grid_tests
