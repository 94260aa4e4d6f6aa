#include "page/worksheet.hpp"

#include <catch2/catch.hpp>
#include <map>

#include "exporting/export_plan.hpp"
#include "trace/evaluate.hpp"

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

std::map<std::string, std::string> files_of(const LoadedSheet& loaded) {
  std::map<std::string, std::string> files;
  blank_worksheet_files(loaded.trace, [&](ExportedFile file) { files[file.name] = file.bytes; });
  return files;
}

std::string page_of(const LoadedSheet& loaded) {
  return worksheet_page(loaded.lesson, loaded.trace, 4, "qkv check test.toml work");
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
