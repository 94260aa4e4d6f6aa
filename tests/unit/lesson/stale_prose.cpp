
#include <catch2/catch.hpp>

#include "document/document.hpp"
#include "exposition/exposition.hpp"
#include "interactive/walkthrough.hpp"
#include "lesson/library.hpp"
#include "page/pages.hpp"
#include "terminal/walk.hpp"
#include "trace/trace.hpp"

namespace lesson_stale_prose_tests {

using namespace qkv;
using Texts = std::vector<std::string>;

namespace {

// A = X·W, and two steps that have nothing to do with it; the last asks something.
constexpr std::string_view lesson_text = R"(title = "Two products"
tokens = ["fat", "cat"]
[[given]]
name = "X"
value = [[1, 0], [0, 2]]
[[given]]
name = "W"
value = [[1, 0], [0, 1]]
[[given]]
name = "U"
value = [[3, 0], [0, 3]]
[[step]]
name = "A"
op = "matmul"
of = ["X", "W"]
title = "W keeps X"
say = "W is one."
notice = "A is X."
[[step]]
name = "B"
op = "relu"
of = ["U"]
say = "U stays."
notice = "Nothing is below 0."
[[step]]
name = "C"
op = "relu"
of = ["U"]
say = "C has three; A had {A[cat,2]}."
notice = "C is {C.shape}."
try = """
What is A?

    qkv explain two.toml 'A[1,1]'"""
)";

std::shared_ptr<const LoadedLesson> loaded(std::string_view text = lesson_text) {
  ParsedLesson reading = read_lesson(text, "two.toml", {});
  Trace trace = evaluate(reading.lesson.recipe);
  return std::make_shared<const LoadedLesson>(
      LoadedLesson{std::move(reading.lesson), std::move(trace)});
}

LoadedLesson set(const std::string& change) { return with_cell_set(loaded(), change); }

// What each step says; "" stands for its operation's words.
Texts said(const Lesson& lesson) {
  Texts texts;
  for (const StepText& words : lesson.texts) texts.push_back(words.say.text);
  return texts;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

}  // namespace

TEST_CASE("a changed step has no words of its own any more, nor has what quotes its numbers") {
  // A changes; B doesn't know of it; C only quotes it.
  CHECK(said(set("W[1,1]=5").lesson) == Texts{"", "U stays.", ""});
}

TEST_CASE("title, say and notice go, what the lesson asks stays") {
  const Lesson lesson = set("W[1,1]=5").lesson;
  CHECK(lesson.texts[0].title.empty());
  CHECK(lesson.texts[0].notice.text.empty());
  CHECK(lesson.texts[2].notice.text.empty());
  CHECK(has(lesson.texts[2].questions.text, "What is A?"));
}

TEST_CASE("what is marked to hold of any numbers stays, with live numbers") {
  std::string marked(lesson_text);
  const auto put = [&](std::string_view from, std::string_view to) {
    marked.replace(marked.find(from), from.size(), to);
  };
  put(R"(say = "W is one.")",
      R"(say = """
{any}A[1,1] is {A[1,1]}. {own}W is one. {own X}X stays.

{any}Its size: {A.shape}. {own}No more.""")");
  put(R"(notice = "A is X.")", R"(notice = "{own W}A is X.")");
  const auto own = loaded(marked);
  CHECK(fill_placeholders(own->lesson.texts[0].say.text, own->trace, 4) ==
        "A[1,1] is 1. W is one. X stays.\n\nIts size: 2×2. No more.");
  const LoadedLesson other = with_cell_set(own, "W[1,1]=5");
  CHECK(fill_placeholders(other.lesson.texts[0].say.text, other.trace, 4) ==
        "A[1,1] is 5. X stays.\n\nIts size: 2×2.");
  CHECK(other.lesson.texts[0].notice.text.empty());
  CHECK(other.lesson.texts[0].title.empty());
}

TEST_CASE("a step that is general keeps its title, and its words up to a mark") {
  std::string marked(lesson_text);
  marked.replace(marked.find("op = \"matmul\""), 13, "general = true\nop = \"matmul\"");
  const StepText words = with_cell_set(loaded(marked), "W[1,1]=5").lesson.texts[0];
  CHECK(words.title == "W keeps X");
  CHECK(words.say.text == "W is one.");
}

TEST_CASE("a step that comes out the same from another operand is explained in general words") {
  // -1 and 0 are both 0 after ReLU, but the words may speak of U.
  CHECK(said(set("U[1,2]=-1").lesson) == Texts{"W is one.", "", ""});
}

TEST_CASE("a number set to what it was changes no words") {
  CHECK(said(set("W[1,1]=1").lesson) == said(loaded()->lesson));
  const auto changed = std::make_shared<const LoadedLesson>(set("W[1,1]=5"));
  const LoadedLesson back = with_cell_set(changed, "W[1,1]=1");
  CHECK(said(back.lesson) == Texts{"W is one.", "U stays.", "C has three; A had {A[cat,2]}."});
}

TEST_CASE("other words of the same number are another text") {
  Trace other = loaded()->trace;
  other.givens[0].tensor.axes[0].labels = {"the", "mat"};
  CHECK(said(without_stale_prose(loaded()->lesson, loaded()->trace, other)) ==
        Texts{"", "U stays.", "C has three; A had {A[cat,2]}."});
}

TEST_CASE("a lesson that nobody changed keeps all of its words") {
  CHECK_FALSE(loaded()->lesson.changed);
  CHECK(load_lesson("two-heads").own == nullptr);
}

TEST_CASE("another sentence leaves the built-in lesson what is true of it, and its questions") {
  const LoadedLesson other = load_lesson("two-heads", {.text = "the mat sat", .set = {}});
  CHECK(other.lesson.changed);
  CHECK(other.own->lesson.texts.back().say.text != "");
  CHECK(has(other.lesson.texts.back().say.text, "A last projection"));
  CHECK_FALSE(has(other.lesson.texts.back().notice.text, "\"fat\""));
  CHECK(has(other.lesson.texts.back().questions.text, "Next: toy-attention"));
}

TEST_CASE("the walk, the page and the document say which words explain a changed lesson") {
  const std::string_view note = "Sentences about the numbers before your change are left out.";
  const LoadedLesson own = *loaded();
  const LoadedLesson other = set("W[1,1]=5");
  const auto walk = [](const LoadedLesson& it) {
    std::string text = lesson_heading(it.lesson, {});
    for (const Step& step : it.trace.steps) text += step_text(it.lesson, it.trace, step, {});
    return text;
  };
  const auto page = [](const LoadedLesson& it) {
    std::string text;
    write_report(it.lesson, it.trace, {}, [&](std::string_view piece) { text += piece; });
    return text;
  };
  const auto document = [](const LoadedLesson& it) {
    return markdown_document(it.lesson, it.trace, {});
  };
  for (const auto& [before, after] :
       {std::pair(walk(own), walk(other)), std::pair(page(own), page(other)),
        std::pair(document(own), document(other))}) {
    CHECK_FALSE(has(before, note));
    CHECK(has(before, "W is one."));
    CHECK(has(before, "W keeps X"));
    CHECK(has(after, note));
    CHECK_FALSE(has(after, "W is one."));
    CHECK_FALSE(has(after, "W keeps X"));
    CHECK(has(after, "U stays."));
    CHECK(has(after, "What is A?"));
  }
}

TEST_CASE("stepping takes words away with a change and brings them back when it is undone") {
  Walkthrough walk = walkthrough(*loaded(), {0, 2}, {});
  set_cell(walk, "W[1,1]=5");
  set_cell(walk, "U[1,1]=7");
  CHECK(said(walk.now->lesson) == Texts{"", "", ""});
  undo(walk);
  CHECK(said(walk.now->lesson) == Texts{"", "U stays.", ""});
  undo(walk);
  CHECK(said(walk.now->lesson) == Texts{"W is one.", "U stays.", "C has three; A had {A[cat,2]}."});
}

TEST_CASE("a walk that starts from a changed lesson marks what differs from the lesson itself") {
  const Walkthrough walk = walkthrough(set("W[1,1]=5"), {0, 2}, {});
  CHECK(walk.own()->at("A").values == std::vector<double>{1, 0, 0, 2});
  CHECK(walk.trace().at("A").values == std::vector<double>{5, 0, 0, 2});
}

}  // namespace lesson_stale_prose_tests
