#include "exposition/exposition.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace exposition_map_tests {

namespace {

using namespace qkv;

std::string step(const std::string& name, const std::string& op, const std::string& of) {
  return "[[step]]\nname = \"" + name + "\"\nop = \"" + op + "\"\nof = " + of + "\n";
}

LessonMap map_of_lesson(const std::string& toml) {
  const ParsedLesson reading = read_lesson(toml, "test.toml", {});
  REQUIRE(reading.faults.empty());
  return map_of(evaluate(reading.lesson.recipe));
}

const std::string givens = R"(tokens = ["fat", "cat"]
[[given]]
name = "X"
value = [[1, 0, 2], [1, 2, 3]]
[[given]]
name = "W_Q"
value = [[1, 0], [0, 1], [1, 1]]
)";

const std::string attention =
    givens + step("Q", "project", R"(["X", "W_Q"])") + step("K", "project", R"(["X", "W_Q"])") +
    step("V", "project", R"(["X", "W_Q"])") + step("scores", "score", R"(["Q", "K"])") +
    step("attention_weights", "softmax", R"(["scores"])") +
    step("context", "weighted_sum", R"(["attention_weights", "V"])");

}  // namespace

TEST_CASE("the map has a box for each step and for the data that it begins with") {
  const LessonMap map = map_of_lesson(attention);
  REQUIRE(map.boxes.size() == 7);
  CHECK(map.boxes[0].name == "X");
  CHECK(map.boxes[0].shape == "2×3");
  CHECK(map.boxes[0].to == std::vector<std::size_t>{1, 2, 3});
  CHECK(map.boxes[4].name == "scores");
  CHECK(map.boxes[4].from == std::vector<std::size_t>{1, 2});
  CHECK(map.boxes[4].column == 2);
  CHECK(map.boxes[6].from == std::vector<std::size_t>{5, 3});
  CHECK(map.boxes[6].column == 4);
}

TEST_CASE("a gradient has an arrow from what it is computed from, not from what has its shape") {
  const LessonMap map = map_of_lesson(
      givens + "[[given]]\nname = \"G\"\nvalue = [[1, 2], [3, 5]]\n" +
      step("Q", "project", R"(["X", "W_Q"])") + step("K", "project", R"(["X", "W_Q"])") +
      step("scores", "score", R"(["Q", "K"])") + step("positive", "relu", R"(["scores"])") +
      "[backward]\nfrom = { positive = \"G\" }\nwanted = [\"X\"]\n");
  const auto origins = [&](const std::string& name) {
    std::vector<std::string> names;
    for (const std::size_t place : map.boxes[map.names.place(name).value()].from)
      names.push_back(map.boxes[place].name);
    return names;
  };
  CHECK(origins("d_K") == std::vector<std::string>{"d_scores", "Q"});
  CHECK(origins("d_X_by_K") == std::vector<std::string>{"d_K"});
  const std::vector<std::string> by_sign =
      origins("d_scores");  // relu asks which numbers are above 0
  CHECK(std::ranges::find(by_sign, "scores") != by_sign.end());
  // With every sign changed, this layer norm has the same gradient: it needs X nevertheless.
  const LessonMap norm = map_of_lesson(givens +
                                       "[[given]]\nname = \"g\"\nones = [3]\n[[given]]\nname = "
                                       "\"G\"\nvalue = [[1, 2, 5], [3, 5, 4]]\n" +
                                       step("n", "layer_norm", R"(["X", "g", "g"])") +
                                       "[backward]\nfrom = { n = \"G\" }\nwanted = [\"X\"]\n");
  const MapBox& d_X = norm.boxes[norm.names.place("d_X").value()];
  CHECK(std::ranges::find(d_X.from, norm.names.place("X").value()) != d_X.from.end());
}

TEST_CASE("a short map is drawn as boxes, which name their origins where it is not clear") {
  CHECK(map_text(map_of_lesson(attention), 80) ==
        "  ┌───────┐   ┌───────┐   ┌────────────┐   ┌───────────────────────┐\n"
        "  │ X 2×3 │ → │ Q 2×2 │ → │ scores 2×2 │ → │ attention_weights 2×2 │ →\n"
        "  └───────┘   ├───────┤   │ ← Q, K     │   └───────────────────────┘\n"
        "            ↳ │ K 2×2 │   └────────────┘\n"
        "              ├───────┤\n"
        "            ↳ │ V 2×2 │\n"
        "              └───────┘\n"
        "  ┌────────────────────────┐\n"
        "  │ context 2×2            │\n"
        "  │ ← attention_weights, V │\n"
        "  └────────────────────────┘\n"
        "  An arrow or ← shows what a box is made from.\n");
}

TEST_CASE("where the boxes do not fit, the map is chains of them") {
  CHECK(map_text(map_of_lesson(attention), 30) ==
        "  [X 2×3] → [Q 2×2]\n"
        "  X → [K 2×2] → [scores 2×2]\n"
        "    with Q\n"
        "    → [attention_weights 2×2]\n"
        "  X → [V 2×2]\n"
        "    → [context 2×2]\n"
        "    with attention_weights\n"
        "  A [box] is made from the one\n"
        "  before its arrow and those\n"
        "  after \"with\".\n");
}

TEST_CASE("a step's place on the map is named between what comes before and after") {
  const LessonMap map = map_of_lesson(attention);
  CHECK(map_line(map, "Q", 80) == "X → [Q] (beside it: K, V) → scores → attention_weights → …");
  CHECK(map_line(map, "K", 80) == "X → [K] (beside it: Q, V) → scores → attention_weights → …");
  CHECK(map_line(map, "context", 80) == "X → Q → scores → attention_weights, V → [context]");
  CHECK(map_line(map, "context", 44) == "X → … → attention_weights, V → [context]");
  CHECK(map_line(map, "Q", 40) == "X → [Q] (beside it: K, V) → …");
  CHECK(map_line(map, "Q", 14) == "X → [Q] → …");
  CHECK(map_line(map, "attention_weights", 20) == "X → … → [attention_…");
  CHECK(map_line(map, "nothing", 80).empty());
}

TEST_CASE("where a step's origins do not fit, the step's own name still stands whole") {
  const LessonMap map =
      map_of_lesson(givens + step("first_long_name", "project", R"(["X", "W_Q"])") +
                    step("second_long_name", "project", R"(["X", "W_Q"])") +
                    step("sum", "add", R"(["first_long_name", "second_long_name"])"));
  CHECK(map_line(map, "sum", 60) == "X → first_long_name, second_long_name → [sum]");
  CHECK(map_line(map, "sum", 40) == "X → first_long_name, … → [sum]");
}

TEST_CASE("a given with tokens is data, also where a step meets it later") {
  const LessonMap map = map_of_lesson(
      "[[given]]\nname = \"S\"\nvalue = [[1, 2], [3, 4]]\n[[given]]\nname = \"V\"\nvalue = [[1, "
      "2], [3, 4]]\n" +
      step("weights", "softmax", R"(["S"])") +
      step("context", "weighted_sum", R"(["weights", "V"])"));
  REQUIRE(map.boxes.size() == 4);
  CHECK(map.boxes[2].name == "V");
  CHECK(map.boxes[3].from == std::vector<std::size_t>{1, 2});
}

}  // namespace exposition_map_tests
