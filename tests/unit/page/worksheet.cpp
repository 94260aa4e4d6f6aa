#include "page/pages.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "exporting/export_plan.hpp"
#include "trace/trace.hpp"

namespace page_worksheet_tests {

namespace {

using namespace qkv;
using Catch::Matchers::Contains;

struct LoadedSheet {
  Lesson lesson;
  Trace trace;
};

LoadedSheet load(const std::string& toml) {
  ParsedLesson reading = read_lesson(toml, "test.toml", {});
  REQUIRE(reading.faults.empty());
  Trace trace = evaluate(reading.lesson.recipe);
  return {std::move(reading.lesson), std::move(trace)};
}

std::map<std::string, std::string> files_of(const LoadedSheet& loaded,
                                            const WorksheetRequest& request = {}) {
  std::map<std::string, std::string> files;
  for (const ExportedFile& file :
       worksheet_files(loaded.trace, worksheet_cells(loaded.trace, request), 4)) {
    files[file.name] = file.bytes;
  }
  return files;
}

std::string page_of(const LoadedSheet& loaded, const WorksheetRequest& request = {},
                    SheetKind kind = SheetKind::blank) {
  return worksheet_page(loaded.lesson, worksheet_cells(loaded.trace, request),
                        {.check = "qkv check test.toml work", .kind = kind});
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

const std::string two_heads = R"(
title  = "Two heads"
tokens = ["=1+1", "cat"]
[[given]]
name  = "X"
value = [[1, 0.5], [0, 2]]
[[given]]
name  = "W_Q"
value = [[[1], [0]], [[0], [1]]]
[[step]]
name = "Q"
op   = "project"
of   = ["X", "W_Q"]
)";

TEST_CASE("a worksheet has the givens filled in and the steps blank, heads by themselves") {
  const auto files = files_of(load(two_heads));
  CHECK(files.size() == 5);
  CHECK(files.at("given-X.csv") == ",1,2\n'=1+1,1,0.5\ncat,0,2\n");
  CHECK(files.at("01-Q.head-1.csv") == ",1\n'=1+1,\ncat,\n");
  CHECK(files.at("01-Q.head-2.csv") == files.at("01-Q.head-1.csv"));
}

TEST_CASE("the page has a grid for each matrix: givens filled, steps empty") {
  const std::string page = page_of(load(two_heads));
  CHECK_THAT(page, Contains("<h1 dir=\"auto\">Two heads</h1>"));
  CHECK_THAT(page, Contains("<h2>1. Q: <bdi>Make the queries</bdi></h2>"));
  CHECK_THAT(page, Contains("X (2×2) · W_Q (2×2×1) → Q (2×2×1)"));
  CHECK_THAT(page, Contains("<td>0.5</td>"));
  CHECK(count(page, "<table>") == 5);
  CHECK(count(page, "<td></td>") == 4);
  CHECK_THAT(page, Contains("<code>qkv check test.toml work</code>"));
}

// K of the rows: 0.125 and 1; 0.0625 and 0.5; -0.375 and -3.
const std::string attention = R"(
title  = "Attention"
tokens = ["the", "cat", "the"]
[[given]]
name  = "Q"
value = [[1, 0], [2, 1], [0, 4]]
[[given]]
name  = "X"
value = [[1], [0.5], [-3]]
[[given]]
name  = "W"
value = [[0.125, 1]]
[[step]]
name = "K"
op   = "project"
of   = ["X", "W"]
[[step]]
name = "scores"
op   = "score"
of   = ["Q", "K"]
)";

TEST_CASE("a worksheet says how many decimals its printed givens allow") {
  const auto page = [](const std::string& value) {
    return page_of(load("[[given]]\nname = \"S\"\nvalue = [[" + value +
                        ", 2]]\n[[step]]\nname = \"A\"\nop = \"exp\"\nof = [\"S\"]\n"));
  };
  CHECK_THAT(page("0.125"), Contains("within a matrix; four are enough"));
  CHECK_THAT(page("0.123456"),
             Contains("within a matrix; write 2 at most, since some givens are rounded"));
}

TEST_CASE("a rounded given that a part does not use is no reason to write fewer decimals") {
  const LoadedSheet loaded = load(R"(
[[given]]
name  = "S"
value = [[1, 2]]
[[given]]
name  = "T"
value = [[0.123456, 2]]
[[step]]
name = "A"
op   = "exp"
of   = ["S"]
[[step]]
name = "B"
op   = "exp"
of   = ["T"]
)");
  CHECK_THAT(page_of(loaded, {.steps = {1}}), Contains("write 2 at most"));
  CHECK_THAT(page_of(loaded, {.steps = {0}}), Contains("four are enough"));
}

TEST_CASE("of one row a worksheet asks for its numbers and gives what they are made of") {
  const LoadedSheet loaded = load(attention);
  const auto files = files_of(loaded, {.row = "cat"});
  CHECK(files.at("01-K.csv") == ",1,2\nthe,1.250e-01,1\ncat,,\nthe,-3.750e-01,-3\n");
  CHECK(files.at("02-scores.csv") == ",the,cat,the\nthe,-,-,-\ncat,,,\nthe,-,-,-\n");
  CHECK(files.size() == 5);
  CHECK(worksheet_cells(loaded.trace, {.row = "cat"}).asked == 5);
  CHECK(worksheet_cells(loaded.trace, {.row = "3"}).asked == 5);
}

TEST_CASE("a step alone is asked for with its operands filled in") {
  const auto files = files_of(load(attention), {.steps = {1}});
  CHECK(files.size() == 3);
  CHECK(files.contains("given-Q.csv"));
  CHECK(files.at("01-K.csv") == ",1,2\nthe,0.1250,1\ncat,0.0625,0.5000\nthe,-0.3750,-3\n");
}

TEST_CASE("a row is refused if its label is ambiguous or unknown") {
  const LoadedSheet loaded = load(attention);
  CHECK_THROWS_WITH(worksheet_cells(loaded.trace, {.row = "the"}),
                    "--row the: \"the\" stands at rows 1 and 3; write the number");
  CHECK_THROWS_WITH(worksheet_cells(loaded.trace, {.row = "cats"}),
                    "--row cats: no such row in these steps; did you mean \"cat\"?");
  CHECK_THROWS_WITH(worksheet_cells(loaded.trace, {.row = "4"}),
                    "--row 4: no such row in these steps; rows count from 1 to 3");
}

TEST_CASE("the key has the numbers, and the arithmetic of each that is asked for") {
  const LoadedSheet loaded = load(attention);
  const std::string blank = page_of(loaded, {.row = "cat"});
  CHECK(count(blank, "<td></td>") == 5);
  CHECK_THAT(blank, Contains("Numbers to work out: <b>5</b>"));
  const std::string key = page_of(loaded, {.row = "cat"}, SheetKind::key);
  CHECK(count(key, "<td class=\"key\">") == 5);
  CHECK_THAT(key, Contains("scores[cat,3] = 2·(−0.375) + 1·(−3) = −0.75 + (−3) = −3.75"));
  CHECK(count(key, "<td></td>") == 0);
}

TEST_CASE("nothing in a lesson becomes part of the page's own text") {
  const std::string page = page_of(load(R"(
title   = "<script>alert(1)</script>"
summary = "a < b & c \u202E\u0007"
source  = "\"' onload='x"
tokens  = ["</td><img src=x>", "&lt;"]
[[given]]
name  = "X"
value = [[1, 0], [0, 2]]
columns = ["<b>", "javascript:x"]
[[step]]
name = "A"
op   = "softmax"
of   = ["X"]
)"));
  CHECK(count(page, "<script") == 0);
  CHECK(count(page, "<img") == 0);
  CHECK(count(page, "\xE2\x80\xAE") == 0);
  CHECK(count(page, "\a") == 0);
  CHECK_THAT(page, Contains("&lt;/td&gt;&lt;img src=x&gt;"));
  CHECK_THAT(page, Contains("&amp;lt;"));
  CHECK_THAT(page, Contains("&quot;&#39; onload=&#39;x"));
}

TEST_CASE("a wide matrix comes in grids that fit on paper") {
  const std::string page = page_of(load(R"(
title = "Wide"
[[given]]
name = "X"
ones = [3, 25]
[[step]]
name = "A"
op   = "softmax"
of   = ["X"]
)"));
  CHECK_THAT(page, Contains("<figcaption>A, columns 1 to 8</figcaption>"));
  CHECK_THAT(page, Contains("<figcaption>X, given, columns 9 to 16</figcaption>"));
  CHECK_THAT(page, Contains("<figcaption>A, columns 17 to 25</figcaption>"));
}

TEST_CASE("a matrix too large for handwriting is left to its files") {
  const LoadedSheet loaded = load(R"(
title = "Large"
[[given]]
name = "X"
ones = [100, 100]
[[step]]
name = "A"
op   = "softmax"
of   = ["X"]
)");
  const std::string page = page_of(loaded);
  CHECK(count(page, "<table>") == 0);
  CHECK(count(page, "its 10000 numbers are too many for paper: see the CSV file.</p>") == 2);
  CHECK(files_of(loaded).size() == 2);
}

}  // namespace

}  // namespace page_worksheet_tests
