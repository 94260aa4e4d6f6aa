#include "lesson/prose.hpp"

#include <catch2/catch.hpp>

#include "lesson/lesson.hpp"
#include "text/number.hpp"
#include "trace/trace.hpp"

namespace lesson_prose_tests {

namespace {

// Two tokens: scores [[1, 5], [2, 8]]; masked [[1, -inf], [2, 8]]; weights [[0.5, 0.5], [0, 1]].
qkv::Trace trace(const std::string& token_layout = "rows") {
  const qkv::ParsedLesson reading = qkv::read_lesson("convention = \"" + token_layout + R"("
tokens = ["cat", "mat"]
[[given]]
name = "scores"
value = [[1, 5], [2, 8]]
rows = ["cat", "mat"]
columns = ["cat", "mat"]
[[given]]
name = "attention_weights"
value = [[0.5, 0.5], [0, 1]]
[[given]]
name = "count"
value = [[57982058496]]
[[step]]
name = "masked"
op = "mask"
of = "scores"
)",
                                                     "lesson.toml", {});
  REQUIRE(reading.faults.empty());
  return qkv::evaluate(reading.lesson.recipe);
}

std::string read(std::string_view prose, const qkv::Trace& of) {
  std::string text;
  for (const qkv::ProsePiece& piece : qkv::pieces_of(prose, of)) {
    text += piece.text;
    if (piece.number) text += qkv::brief(*piece.number, piece.digits.value_or(4));
  }
  return text;
}

// What is wrong with the first brace.
std::string fault(std::string_view prose) {
  const std::vector<qkv::ProseFault> faults = qkv::prose_faults(prose, trace());
  REQUIRE(!faults.empty());
  return faults.front().message;
}

}  // namespace

TEST_CASE("prose may name a statistic of a matrix") {
  CHECK(read("{scores.max} {scores.min} {scores.sum} {scores.mean}", trace()) == "8 1 16 4");
  CHECK(read("{scores.spread:3}", trace()) == "2.739");  // √((9 + 1 + 4 + 16) / 4)
}

TEST_CASE("a star stands for a whole row or column") {
  CHECK(read("{scores[cat,*].sum} {scores[*,cat].sum} {scores[2,*].max}", trace()) == "6 3 8");
  CHECK(read("{scores[*,*].sum}", trace()) == "16");
}

TEST_CASE("rows and columns are those that people see") {
  // In a lesson in columns the matrix is written and shown as it stands in the file.
  CHECK(read("{scores[1,*].sum} {scores[*,1].sum}", trace("columns")) == "6 3");
}

TEST_CASE("hidden scores have no say") {
  CHECK(read("{masked.max} {masked.min} {masked[cat,*].sum}", trace()) == "8 1 1");
}

TEST_CASE("a row that is not there is a fault, and a dash for who reads on") {
  CHECK_THAT(fault("{masked[3,*].sum}"), Catch::Contains("they count from 1 to 2"));
  CHECK(read("{masked[3,*].sum}", trace()) == "—");
}

TEST_CASE("entropy is the mean over the rows, in nats") {
  CHECK(read("{attention_weights[1,*].entropy}", trace()) == "0.6931");  // ln 2
  CHECK(read("{attention_weights[2,*].entropy}", trace()) == "0");
  CHECK(read("{attention_weights.entropy}", trace()) == "0.3466");
}

TEST_CASE("the slope of softmax is the largest p(1 - p)") {
  CHECK(read("{attention_weights.slope} {attention_weights[2,*].slope}", trace()) == "0.25 0");
}

TEST_CASE("a whole number may have its thousands apart") {
  CHECK(read("{count[1,1]:,} {scores[1,2]:,} {masked[1,2]:,}", trace()) == "57,982,058,496 5 -inf");
}

TEST_CASE("a statistic that is not there is told with those that are") {
  CHECK_THAT(fault("{scores.median}"),
             Catch::Contains("max, min, sum, mean, spread, entropy, slope"));
  CHECK(fault("{scores[1,2].max}") ==
        "scores[1,2].max: write * for a whole row or column: scores[1,*].max");
}

TEST_CASE("the likeliest tokens are named without those that would read 0.0 %") {
  CHECK(read("{attention_weights.likeliest}", trace()) == "<1> (100.0 %)");
  CHECK(read("{attention_weights.likeliest with attention_weights[2,1]=0.0004}", trace()) ==
        "<1> (100.0 %)");
  CHECK(read("{attention_weights.likeliest with attention_weights[2,1]=0.0006}", trace()) ==
        "<1> (100.0 %), <0> (0.1 %)");
}

TEST_CASE("marks are no words, and what they name must be there") {
  CHECK(read("{any}All {scores.max}. {own scores, count}Some.", trace()) == "All 8. Some.");
  CHECK_THAT(fault("{own score}Some."), Catch::Contains("did you mean \"scores\"?"));
  CHECK(qkv::names_in("{own A, B}{any}{C.max}") == std::vector<std::string>{"A", "B", "C"});
}

TEST_CASE("a stretch ends with its paragraph, and goes where its braces find nothing") {
  const auto true_part = [](std::string_view prose, bool any) {
    return qkv::still_true(prose, any, trace(),
                           [](const std::string& name) { return name == "A"; });
  };
  CHECK(true_part("All. {own}Own.", true) == "All.");
  CHECK(true_part("Own. {any}All. {own B}Of B. {own A}Of A.", false) == "All. Of A.");
  CHECK(true_part("{any}All. {any}{scores[dog,1]} barks. {any}Still.", false) == "All. Still.");
  CHECK(true_part("Own.\n\n{any}    code {scores[1,1]}\n\nAll.", false) ==
        "    code {scores[1,1]}\n\nAll.");
  CHECK(true_part("Own.", false).empty());
}

TEST_CASE("what braces look up is known by name") {
  CHECK(qkv::names_in("{{no}} {A[cat,2]:3}, {B.max}, {C[cat,*].sum}, {d_k} and {n[1,1]:,}") ==
        std::vector<std::string>{"A", "B", "C", "d_k", "n"});
  CHECK(qkv::names_in("{h0.A[1,2]}, {h0.B.shape}, {h0.C.likeliest}, {h0.D.max with h0.E.of=F}") ==
        std::vector<std::string>{"h0.A", "h0.B", "h0.C", "h0.D"});
}

TEST_CASE("a brace may tell what would be if something else were set") {
  CHECK(read("{scores.max with scores[2,2]=3}, {masked[2,2] with scores[2,2]=3}", trace()) ==
        "5, 3");
  CHECK(read("{masked[2,1] with masked.of=attention_weights}", trace()) == "0");
  CHECK(read("{masked[1,2] with masked.kind=prefix and masked.prefix=2}", trace()) == "5");
  CHECK_THAT(fault("{masked[2,1] with masked.kin=causal}"),
             Catch::Contains("mask has no option \"kin\"; did you mean \"kind\"?"));
  CHECK_THAT(fault("{masked[2,1] with masked.of=weights}"),
             Catch::Contains("nothing before this step is called \"weights\""));
}

TEST_CASE("d_k is the width of a query, whichever way round its weight is stored") {
  const auto width_of = [](const std::string& weight, const std::string& layout) {
    const std::string toml =
        "[[given]]\nname = \"X\"\nvalue = [[1, 0, 2], [0, 1, 1]]\n"
        "[[given]]\nname = \"W_Q\"\nvalue = " +
        weight + "\n[[step]]\nname = \"q\"\nop = \"project\"\nof = [\"X\", \"W_Q\"]\nlayout = \"" +
        layout + "\"\n";
    const qkv::ParsedLesson reading = qkv::read_lesson(toml, "lesson.toml", {});
    return qkv::symbol(qkv::evaluate(reading.lesson.recipe), "d_k");
  };
  CHECK(width_of("[[1, 0, 2], [0, 1, 1]]", "out-in") == 2);
  CHECK(width_of("[[1, 0], [0, 1], [1, 1]]", "in-out") == 2);
}

}  // namespace lesson_prose_tests
