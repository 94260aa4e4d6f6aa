#include "terminal/walk.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <string>

#include "exposition/arithmetic.hpp"
#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace terminal_walk_tests {

namespace {

using namespace qkv;

struct Loaded {
  Lesson lesson;
  Trace trace;
};

Loaded loaded(const std::string& toml) {
  ParsedLesson reading = read_lesson(toml, "small", {});
  REQUIRE(reading.faults.empty());
  return {reading.lesson, evaluate(reading.lesson.recipe)};
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

std::string walked(const Loaded& it, std::string_view step) {
  return step_text(it.lesson, it.trace, it.trace.step_at(step), {});
}

std::string arithmetic(const Loaded& it, std::string_view cell, std::size_t max_terms = 0) {
  const CellArithmetic worked =
      arithmetic_of(it.trace, find_cell(cell, it.trace), {.max_terms = max_terms});
  std::string text;
  for (const std::string& line : worked.lines) text += line + "\n";
  return text + worked.remark;
}

const std::string product = R"([[given]]
name = "X"
value = [[1, 2], [3, 4]]
show = false
[[given]]
name = "W"
value = [[1, 0], [0, 1]]
[[step]]
name = "Y"
op = "project"
of = ["X", "W"]
title = "A title of its own"
say = "Said: {Y[2,2]:3}."
notice = "Noticed."
)";

}  // namespace

TEST_CASE("a step can have a title of its own, and a given be named without its numbers") {
  CHECK(walked(loaded(product), "Y") ==
        "1/1  Y  A title of its own\n\n"
        "  X (2×2) · W (2×2) → Y (2×2)\n\n"
        "  Said: 4.000.\n\n"
        "  given: W (2×2)\n"
        "     1  2\n"
        "  1  1  0\n"
        "  2  0  1\n\n"
        "  given, not shown: X (2×2)\n\n"
        "  Y (2×2)\n"
        "     1  2\n"
        "  1  1  2\n"
        "  2  3  4\n\n"
        "  One cell:\n"
        "    Y[2,2] = X[2,1]·W[1,2] + X[2,2]·W[2,2]\n"
        "    = 3·0 + 4·1\n"
        "    = 0 + 4\n"
        "    = 4\n\n"
        "  Notice: Noticed.\n");
}

TEST_CASE("a step that isn't shown keeps its formula and its words") {
  CHECK(walked(loaded(product + "show = false\n"), "Y") ==
        "1/1  Y  A title of its own\n\n"
        "  X (2×2) · W (2×2) → Y (2×2)\n\n"
        "  Said: 4.000.\n\n"
        "  given: W (2×2)\n"
        "     1  2\n"
        "  1  1  0\n"
        "  2  0  1\n\n"
        "  given, not shown: X (2×2)\n\n"
        "  Notice: Noticed.\n");
}

TEST_CASE("a step works out the cell that the lesson chose, or the one that changed most") {
  const Loaded own = loaded(product + "cell = \"Y[1,2]\"\n");
  CHECK(walked(own, "Y").find("    Y[1,2] = ") != std::string::npos);
  Loaded other = own;
  other.trace.givens[0].tensor.values = {1, 2, 9, 4};
  other.trace.steps[0].output.values = {1, 2, 9, 4};
  const std::string text =
      step_text(other.lesson, other.trace, other.trace.steps[0], {{.baseline = &own.trace}});
  CHECK(text.find("  changed: 1 of 4 cells: [2,1] 3 → 9\n") != std::string::npos);
  CHECK(text.find("    Y[2,1] = ") != std::string::npos);
}

TEST_CASE("what lies on the way to weights is shown to those who ask for it") {
  const Loaded it = loaded(R"(given = [{name = "scores", value = [[0, 0], [5, 5]]}]
step = [{name = "A", op = "softmax", of = ["scores"]}]
)");
  const auto shown = [&](bool intermediates) {
    return step_text(it.lesson, it.trace, it.trace.steps[0], {{.intermediates = intermediates}});
  };
  CHECK(shown(false).find("intermediate: ") == std::string::npos);
  CHECK(shown(false).find("  The steps in between: qkv run small --step A --intermediates\n") !=
        std::string::npos);
  CHECK(shown(true).find("  intermediate: minus the largest\n") != std::string::npos);
  CHECK(shown(true).find("--intermediates") == std::string::npos);
}

TEST_CASE("a mask shows a cell that it hides, a later step no hidden cell") {
  const std::string masked = R"(given = [
  {name = "scores", value = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]},
  {name = "keep", value = [[1, 1, 1], [1, 1, 1], [0, 0, 0]]},
]
[[step]]
name = "masked"
op = "mask"
of = ["scores", "keep"]
)";
  const std::string chosen = "cell = \"masked[3,2]\"\n";
  const std::string later = R"(given = [{name = "masked", value = "1 2 3\n4 5 6\n-inf 8 9"}]
[[step]]
name = "A"
op = "softmax"
of = ["masked"]
cell = "A[3,1]"
)";
  CHECK(has(walked(loaded(masked), "masked"), "    masked[3,1] = -inf\n"));
  CHECK(has(walked(loaded(masked + chosen), "masked"), "    masked[3,2] = -inf\n"));
  CHECK(has(walked(loaded(later), "A"), "    A[3,3] = "));
  Loaded own = loaded(masked);
  Loaded other = own;
  other.trace.givens[1].tensor.values = {1, 1, 1, 1, 0, 1, 0, 0, 0};
  other.trace.steps[0].output.values.mutable_span()[4] = -std::numeric_limits<double>::infinity();
  const std::string text =
      step_text(other.lesson, other.trace, other.trace.steps[0], {{.baseline = &own.trace}});
  CHECK(has(text, "    masked[2,2] = -inf\n"));
}

TEST_CASE("names that take many lines leave the first place to the numbers") {
  const CellArithmetic worked{.cell = "Y[1,1]",
                              .value = 3,
                              .lines = {"the_first_operand[1,1]·the_second_operand[1,1] + "
                                        "the_first_operand[1,2]·the_second_operand[2,1]",
                                        "1·1 + 1·2", "3"},
                              .signs = {"=", "=", "="}};
  constexpr std::size_t narrow = 30;
  CHECK(arithmetic_text(worked, narrow, "qkv explain small 'Y[1,1]'") ==
        "  Y[1,1]\n"
        "  = 1·1 + 1·2\n"
        "  = 3\n"
        "  The same with names: qkv\n"
        "  explain small 'Y[1,1]'\n");
  CHECK(arithmetic_text(worked, narrow).starts_with("  Y[1,1] =\n"));
}

TEST_CASE("with tokens as columns a product has the weight first, as its formula does") {
  CHECK(arithmetic(loaded("convention = \"columns\"\n" + product), "Y[1,2]") ==
        "W[1,1]·X[1,2] + W[1,2]·X[2,2]\n1·2 + 0·4\n2 + 0\n2\n");
}

TEST_CASE("a sum that is cut loses the same terms on every line") {
  CHECK(arithmetic(loaded(R"([[given]]
name = "A"
value = [[1, -2, 3, 4, 5, -6]]
[[given]]
name = "B"
value = [[1], [1], [1], [1], [1], [1]]
[[step]]
name = "Y"
op = "matmul"
of = ["A", "B"]
)"),
                   "Y[1,1]", 5) ==
        "A[1,1]·B[1,1] + A[1,2]·B[2,1] + A[1,3]·B[3,1] + … 2 more … + A[1,6]·B[6,1]\n"
        "1·1 + (-2)·1 + 3·1 + … 2 more … + (-6)·1\n"
        "1 + (-2) + 3 + … 2 more … + (-6)\n"
        "5\n");
}

TEST_CASE("a hidden cell says why it is hidden") {
  const Loaded it = loaded(R"(tokens = ["fat", "cat"]
[[given]]
name = "scores"
value = [[1, 2], [3, 4]]
[[given]]
name = "keep"
value = [[1, 1], [0, 1]]
[[step]]
name = "causal"
op = "mask"
of = ["scores"]
[[step]]
name = "chosen"
op = "mask"
of = ["scores", "keep"]
)");
  CHECK(arithmetic(it, "causal[1,2]") == "-inf\nhidden: key 2 comes after query 1 (fat)");
  CHECK(arithmetic(it, "causal[2,2]") == "scores[cat,2]\n4\n");
  CHECK(arithmetic(it, "chosen[2,1]") == "-inf\nhidden: keep is 0 for query 2 (cat) and key 1");
}

TEST_CASE("where queries are fewer than keys, a hidden cell says which token the query counts as") {
  const std::string scores = "[[given]]\nname = \"scores\"\nvalue = [[1, 2, 3], [4, 5, 6]]\n";
  const std::string mask = "[[step]]\nname = \"masked\"\nop = \"mask\"\nof = [\"scores\"]\n";
  CHECK(arithmetic(loaded(scores + mask), "masked[1,3]") ==
        "-inf\nhidden: query 1 counts as token 2 here; key 3 comes after it");
  CHECK(arithmetic(loaded(scores + mask + "align = \"start\"\n"), "masked[1,2]") ==
        "-inf\nhidden: query 1 counts as token 1 here; key 2 comes after it");
}

TEST_CASE("the message for a matrix without a cell names one of its own cells") {
  CHECK_THROWS_WITH(find_cell("Y", loaded(product).trace),
                    "Y is 2×2; write one of its cells: 'Y[2,2]'");
  CHECK_THROWS_WITH(find_cell("Yy", loaded(product).trace),
                    Catch::Matchers::Contains("did you mean \"Y\"?"));
}

TEST_CASE("a minus and a number with a sign have brackets between them") {
  const Loaded norm = loaded(R"([[given]]
name = "X"
value = [[-3, -5]]
[[given]]
name = "gain"
value = [1, 1]
[[given]]
name = "bias"
value = [0, 0]
[[step]]
name = "Y"
op = "layer_norm"
of = ["X", "gain", "bias"]
say = "{X[1,1]} − {X[1,2]}, {X[1,1]} + {X[1,2]}"
)");
  CHECK_THAT(walked(norm, "Y"), Catch::Contains("-3 − (-5), -3 + (-5)"));
  const std::string worked = arithmetic(norm, "Y[1,1]");
  CHECK_THAT(worked, Catch::Contains("-3 − (-8) / 2"));
  CHECK_THAT(worked, Catch::Contains("-3 − (-4)"));
  CHECK(worked.find("− -") == worked.npos);
}

}  // namespace terminal_walk_tests
