#include "interactive/stepper.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "terminal/grid.hpp"
#include "text/strings.hpp"
#include "tiny.hpp"

namespace interactive_stepper_tests {

using namespace qkv;
using namespace qkv::test;
using Lines = std::vector<std::string>;

namespace {

std::string no_export(const LoadedLesson&, const std::string&) { return "3 files in there"; }

Stepper stepper(WindowSize window, bool colour = false, std::optional<Quiz> quiz = {}) {
  Stepper machine(tiny_walk(colour), std::move(quiz), no_export);
  machine.resize(window);
  return machine;
}

void press(Stepper& machine, std::string_view bytes) {
  KeyDecoder decoder;
  decoder.feed(bytes);
  while (auto next = decoder.next()) machine.press(*next);
  if (auto last = decoder.flush()) machine.press(*last);
}

Lines after(Stepper& machine, std::string_view bytes) {
  press(machine, bytes);
  return machine.frame().lines;
}

bool has(const Lines& lines, std::string_view text) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(text) != line.npos; });
}

std::string last(const Lines& lines) { return lines.back(); }

// The lines of a narrow window put together again, `between` two of them.
std::string unbroken(const Lines& lines, const std::string& between) {
  std::string text;
  for (const std::string& line : lines) {
    text += line.substr(std::min(line.find_first_not_of(' '), line.size())) + between;
  }
  return text;
}

}  // namespace

TEST_CASE("the first step at 40 columns") {
  Stepper machine = stepper({.rows = 29, .columns = 40});
  CHECK(machine.frame().lines == Lines{"Tiny",
                                       "",
                                       "  ┌───────┐   ┌────────────┐",
                                       "  │ X 2×2 │ → │ scores 2×2 │ →",
                                       "  └───────┘   └────────────┘",
                                       "  ┌────────────┐",
                                       "  │ halves 2×2 │",
                                       "  └────────────┘",
                                       "",
                                       "1/2  scores",
                                       "  Score every query with every key",
                                       "  X → [scores] → halves",
                                       "",
                                       "  X (2×2) · Xᵀ (2×2) → scores (2×2)",
                                       "",
                                       "  Every word meets every word.",
                                       "",
                                       "  given: X (2×2)",
                                       "       describes  thing",
                                       "  fat          1      0",
                                       "  cat          1      2",
                                       "",
                                       "  scores (2×2)",
                                       "       fat  cat",
                                       "  fat    1    1",
                                       "  cat    1    5",
                                       "",
                                       "  One cell:",
                                       "1/2 ↓8  Enter more  ? keys  q quit"});
}

TEST_CASE("Enter shows the rest of a step before it goes to the next one") {
  Stepper machine = stepper({.rows = 21, .columns = 40});
  CHECK(last(after(machine, "\r")) == "1/2 scores  Enter next  ? keys  q quit");
  CHECK(machine.frame().lines[19] == "  Notice: Five is the most.");
  CHECK(after(machine, "\r").front() == "2/2  halves  Scale the scores");
}

TEST_CASE("a cell at 80 columns: the cell, its operands, its arithmetic") {
  Stepper machine = stepper({.rows = 14, .columns = 80});
  CHECK(after(machine, "e\r") ==
        Lines{"  scores (2×2)       X (2×2)", "       fat  cat           describes  thing",
              "  fat    1    1      fat          1      0",
              "  cat    1 [  5]     cat (        1)(    2)", "",
              "  scores[cat,cat] = X[cat,describes]·X[cat,describes] +",
              "    X[cat,thing]·X[cat,thing]", "  = 1·1 + 2·2", "  = 1 + 4", "  = 5", "",
              "  [ ] this cell  ( ) what it is made of", "",
              "1/2 scores  arrows move  ? keys  q quit  e leave  s set  + - digits"});
}

TEST_CASE("a cell at 40 columns and few rows: the operands come last, below the end") {
  Stepper machine = stepper({.rows = 9, .columns = 40});
  CHECK(after(machine, "ecat,fat\r") ==
        Lines{"  scores (2×2)", "       fat  cat", "  fat    1    1", "  cat [  1]   5", "",
              "  scores[cat,fat] =", "    X[cat,describes]·X[fat,describes] +",
              "    X[cat,thing]·X[fat,thing]", "1/2 ↓10  arrows move  ? keys  q quit"});
  press(machine, "jjjjjjjjjjjjjjjj");
  CHECK(machine.frame().lines[7] == "  cat (        1)(    2)");
}

TEST_CASE("a cell at 200 columns in colour: shades, and the cell turned over") {
  Stepper machine = stepper({.rows = 12, .columns = 200}, true);
  const Lines lines = after(machine, "e\r");
  CHECK(lines[3] ==
        "  \x1b[1mcat\x1b[0m  \x1b[48;5;195;38;5;16m  1\x1b[0m [\x1b[1m\x1b[7m  5\x1b[0m]\x1b[0m"
        "   "
        "  \x1b[1mcat\x1b[0m (\x1b[48;5;111;38;5;16m        1\x1b[0m)"
        "(\x1b[48;5;18;38;5;231m    2\x1b[0m)\x1b[0m");
  CHECK(lines[5] ==
        "  scores[cat,cat] = X[cat,describes]·X[cat,describes] + X[cat,thing]·X[cat,thing]");
}

TEST_CASE("without colour no frame has any sequence in it") {
  Stepper machine = stepper({.rows = 24, .columns = 80});
  for (const char* keys :
       {"e\r", "\x1b[A", "h", "e", "h", "h", "?", "?", "sX[1,1]=2\r", "g", "\x1b"}) {
    for (const std::string& line : after(machine, keys)) CHECK(line.find('\x1b') == line.npos);
  }
}

TEST_CASE("the arrows stop at the edges") {
  Stepper machine = stepper({.rows = 14, .columns = 80});
  CHECK(has(after(machine, "e1,1\r\x1b[A\x1b[D"), "scores[fat,fat] ="));
  CHECK(has(after(machine, "\x1b[B\x1b[B\x1b[B\x1b[C\x1b[C"), "scores[cat,cat] ="));
}

TEST_CASE("a cell of another step takes the walk there") {
  Stepper machine = stepper({.rows = 14, .columns = 80});
  CHECK(has(after(machine, "ehalves[cat,cat]\r"), "halves[cat,cat] = scores[cat,cat] / 2"));
  CHECK(machine.walk().step().name == "halves");
}

TEST_CASE("a value that is set marks what it changes, and u takes it back") {
  Stepper machine = stepper({.rows = 24, .columns = 80});
  // (1 0; 1 3): only the word with itself changes, from 5 to 10.
  const Lines changed = after(machine, "e\rsX[cat,thing]=3\r");
  CHECK(has(changed, "  cat    1 [ 10]     cat (        1)(    3)"));
  CHECK(has(changed, "X[cat,thing]·X[cat,thing] (was 5)") == false);
  CHECK(has(changed, "(was 5)"));
  CHECK(has(changed, "X[cat,thing]=3; changed: scores, halves; u undoes it"));
  const Lines page = after(machine, "e\x1b[F");
  CHECK(has(page, "  cat    1  *10"));
  CHECK(has(after(machine, "u"), "undone: X[cat,thing]=3; changed: scores, halves"));
  CHECK(has(after(machine, "\x1b[F"), "  cat    1    5"));
}

TEST_CASE("what can't be set changes nothing and stays there to be mended") {
  Stepper machine = stepper({.rows = 24, .columns = 80});
  const Lines lines = after(machine, "sscores[1,1]=3\r");
  CHECK(has(lines, "scores is not given; what is given can be set: X"));
  CHECK(last(lines) == "set: scores[1,1]=3");
  CHECK(has(after(machine, "\x15X[1,1]=three\r"),
            "X[1,1]=three: \"three\" is not a number: write it like 0.25, 1/3, √2, 80%"));
  CHECK(last(after(machine, "\x1b")).starts_with("1/2 scores"));
}

TEST_CASE("what was refused is typed over, or mended from its end") {
  Stepper machine = stepper({.rows = 24, .columns = 80});
  CHECK(last(after(machine, "ecat,dog\r")) == "cell: cat,dog");
  CHECK(last(after(machine, "c")) == "cell: c");
  CHECK(last(after(machine, "at,dog\r\x1b[D")) == "cell: cat,dog");
  CHECK(last(after(machine, "\x7f")) == "cell: cat,dg");
  CHECK(last(after(machine, "\r\x7f")) == "cell: ");
}

TEST_CASE("how a value is set is shown with a cell of the lesson, and works") {
  Stepper machine = stepper({.rows = 24, .columns = 80});
  CHECK(has(after(machine, "s"), "as in X[fat,thing]=0.5 (a step: qkv run --set)"));
  CHECK(has(after(machine, "X[fat,thing]=0.5\r"), "X[fat,thing]=0.5; changed: scores, halves"));
}

TEST_CASE("Tab completes what is typed as far as it can be meant") {
  Stepper machine = stepper({.rows = 24, .columns = 80});
  CHECK(last(after(machine, "gh\t")) == "go to step: halves");
  CHECK(after(machine, "\r").front() == "2/2  halves  Scale the scores");
  CHECK(last(after(machine, "s\t")) == "set: X[");
}

TEST_CASE("a step goes by its number, its name, or what is near it") {
  Stepper machine = stepper({.rows = 24, .columns = 80});
  CHECK(after(machine, "g2\r").front() == "2/2  halves  Scale the scores");
  CHECK(after(machine, "gscores\r").front() == "1/2  scores  Score every query with every key");
  CHECK(has(after(machine, "gscoers\r"),
            "there is no step named \"scoers\"; did you mean \"scores\"?"));
  CHECK(has(after(machine,
                  "\x15"
                  "7\r"),
            "there is no step 7; they count from 1 to 2"));
}

TEST_CASE("h draws dots, by thirds of the largest number") {
  Stepper machine = stepper({.rows = 40, .columns = 80});
  const Lines lines = after(machine, "h");
  CHECK(has(lines, "  fat   │· ·│"));
  CHECK(has(lines, "  cat   │· ●│"));
  CHECK(has(after(machine, "h"), "  cat    1    5"));
}

TEST_CASE("+ and - show more decimals and fewer") {
  Stepper machine = stepper({.rows = 40, .columns = 80});
  CHECK(has(after(machine, "n-----"), "0 decimals"));
  CHECK(has(machine.frame().lines, "  = 3"));  // 2.5 goes up, as on paper
  CHECK(has(after(machine, "+"), "  = 2.5"));
}

TEST_CASE("no line is skipped behind a message") {
  Stepper machine = stepper({.rows = 20, .columns = 40});
  const Lines lines = after(machine, "+");
  CHECK(lines[17] == "  given: X (2×2)");
  CHECK(lines[18] == "5 decimals");
  CHECK(after(machine, " ").front() == "  given: X (2×2)");
}

TEST_CASE("who leaves a cell or the list of keys is where they were") {
  Stepper machine = stepper({.rows = 12, .columns = 40});
  const std::string top = after(machine, " ").front();
  CHECK(top != "Tiny");
  CHECK(after(machine, "e\rj\x1b").front() == top);
  CHECK(after(machine, "?\x1b").front() == top);
}

TEST_CASE("the keys are listed, and any other key goes back") {
  Stepper machine = stepper({.rows = 40, .columns = 80});
  CHECK(has(after(machine, "?"), "explains a cell"));
  CHECK(last(machine.frame().lines) == "q quits, any other key goes back");
  CHECK(after(machine, "x").front() == "Tiny");
}

TEST_CASE("x exports to the directory that is typed") {
  Stepper machine = stepper({.rows = 40, .columns = 80});
  CHECK(has(after(machine, "xthere\r"), "3 files in there"));
}

TEST_CASE("q and the end of the input end it") {
  Stepper machine = stepper({.rows = 24, .columns = 80});
  press(machine, "q");
  CHECK(machine.is_over());
  Stepper other = stepper({.rows = 24, .columns = 80});
  other.press({Key::Kind::end_of_input});
  CHECK(other.is_over());
}

TEST_CASE("q ends it from a cell and from the list of keys, too; Esc only leaves them") {
  for (const char* keys : {"e\r", "?", "e\r?"}) {
    Stepper machine = stepper({.rows = 24, .columns = 80});
    press(machine, keys);
    press(machine, "\x1b");
    CHECK_FALSE(machine.is_over());
    press(machine, keys);
    press(machine, "q");
    CHECK(machine.is_over());
  }
}

TEST_CASE("b goes back past the step that the walk began with") {
  Stepper machine(walkthrough(tiny(), {1, 1}, {}), {}, no_export);
  machine.resize({.rows = 40, .columns = 80});
  CHECK(has(after(machine, "b"), "1/2  scores"));
  CHECK(has(after(machine, "b"), "This is the first step."));
  CHECK(has(after(machine, "n"), "2/2  halves"));
}

TEST_CASE("of several steps that are asked for, Enter and b pass over the others") {
  LoadedLesson lesson = loaded(
      "[[given]]\nname = \"A\"\nvalue = [[2, 3]]\n"
      "[[step]]\nname = \"B\"\nop = \"score\"\nof = [\"A\", \"A\"]\n"
      "[[step]]\nname = \"C\"\nop = \"transpose\"\nof = [\"B\"]\n"
      "[[step]]\nname = \"D\"\nop = \"transpose\"\nof = [\"C\"]\n");
  Stepper machine(walkthrough(std::move(lesson), {0, 2, {0, 2}}, {}), {}, no_export);
  machine.resize({.rows = 40, .columns = 80});
  CHECK(has(after(machine, "n"), "3/3  D"));
  CHECK(has(after(machine, "n"), "That was the last step"));
  CHECK(has(after(machine, "b"), "1/3  B"));
}

TEST_CASE("an arrow where a cell is asked for goes on from the one that Enter would take") {
  // Enter alone takes scores[cat,cat].
  for (const auto& [arrow, cell] :
       {std::pair{"\x1b[A", "scores[fat,cat] ="}, std::pair{"\x1b[D", "scores[cat,fat] ="},
        std::pair{"\x1b[B", "scores[cat,cat] ="}}) {
    Stepper machine = stepper({.rows = 24, .columns = 80});
    CHECK(has(after(machine, "e"), "Enter alone (or an arrow) takes scores[cat,cat]"));
    CHECK(has(after(machine, arrow), cell));
    press(machine, "\x1b");
    // In a line that is being typed they move the cursor.
    CHECK(last(after(machine, "e12\x1b[D,")) == "cell: 1,2");
  }
}

TEST_CASE("20 columns and 8 rows are enough to read every key") {
  Stepper machine = stepper({.rows = 8, .columns = 20});
  std::string read;
  press(machine, "?");
  for (int i = 0; i < 40; ++i) {
    CHECK_FALSE(has(machine.frame().lines, "…"));
    read += unbroken(machine.frame().lines, " ");
    if (last(machine.frame().lines).find("Space") == std::string::npos) break;
    press(machine, " ");
  }
  for (const char* words : {"sets a given's cell;", "the step's", "beginning, its end", "exports",
                            "same cell in the", "Esc leaves it,", "q quits, else back"}) {
    CHECK(read.find(words) != read.npos);
  }
}

TEST_CASE("a message that is too long for the window takes it over until it was read") {
  Stepper machine = stepper({.rows = 8, .columns = 20}, false, Quiz(0));
  press(machine, "77\r4.0\r");  // X·X for X·Xᵀ
  CHECK(machine.frame().lines.front() == "Not 4.0 either.");
  std::string read;
  for (bool more = true; more;) {
    const Lines lines = machine.frame().lines;
    read += unbroken(lines, "");
    more = last(lines) == "Space scrolls";
    if (more) press(machine, " ");
  }
  CHECK(read.find("This is how it is") != read.npos);
  CHECK(read.find("multiplied") != read.npos);
  press(machine, "\x1b");
  CHECK(has(machine.frame().lines, "scores (2×2)"));
}

TEST_CASE("the smallest windows show what they can") {
  for (const std::size_t rows : {1, 2, 3}) {
    for (const std::size_t columns : {1, 2, 10}) {
      Stepper machine = stepper({.rows = rows, .columns = columns});
      for (const char* keys : {"", "e", "\r", "\x1b[C", "?", "q", "sX[1,1]=2\r"}) {
        const Lines lines = after(machine, keys);
        CHECK(lines.size() == rows);
        for (const std::string& line : lines) CHECK(display_width(line) <= columns);
      }
    }
  }
}

TEST_CASE("c while a cell is explained goes to the step's beginning, where the code stands") {
  Stepper machine = stepper({.rows = 24, .columns = 80});
  CHECK(has(after(machine, "e\r"), "[ ] this cell"));
  const Lines lines = after(machine, "c");
  CHECK_FALSE(has(lines, "[ ] this cell"));
  CHECK(has(lines, "NumPy"));
}

TEST_CASE("Esc clears what was typed into a quiz, and leaves the quiz where nothing is") {
  Stepper machine = stepper({.rows = 24, .columns = 80}, false, Quiz(0));
  CHECK(last(after(machine, "4\x1b")) == "scores[cat,cat] = ");
  CHECK_FALSE(machine.is_over());
  press(machine, "\x1b");
  CHECK(machine.is_over());
}

TEST_CASE("a quiz asks before it shows") {
  Stepper machine = stepper({.rows = 30, .columns = 60}, false, Quiz(0));
  const Lines question = machine.frame().lines;
  // 5 is the only number that is neither 0 nor 1.
  CHECK(last(question) == "scores[cat,cat] = ");
  CHECK(has(question, "  X (2×2)"));
  CHECK_FALSE(has(question, "5"));
  CHECK(has(after(machine, "4.5\r"), "Not 4.5."));
  CHECK(has(after(machine, "5\r"), "Right: scores[cat,cat] = 5."));
  CHECK(has(machine.frame().lines, "  cat    1    5"));
}

TEST_CASE("a question stays in sight after a wrong answer, in a small window, too") {
  for (const WindowSize window : {WindowSize{24, 80}, WindowSize{12, 40}, WindowSize{8, 20}}) {
    Stepper machine = stepper(window, false, Quiz(0));
    for (const char* keys : {"", "\x1b[6~", "77\r"}) {
      const std::string shown = unbroken(after(machine, keys), window.rows < 12 ? "" : " ");
      const std::string_view cell =
          window.rows < 12 ? "scores[cat,cat]?" : "row \"cat\", column \"cat\" of scores?";
      if (*keys != '\x1b') CHECK(shown.find(cell) != shown.npos);
    }
    CHECK(has(machine.frame().lines, "Not 77."));
  }
}

TEST_CASE("an empty answer gives nothing away: the question is asked again") {
  Stepper machine = stepper({.rows = 24, .columns = 80}, false, Quiz(0));
  const Lines lines = after(machine, "\r\r  \r");
  CHECK(has(lines, "s skips, q quits"));
  CHECK(last(lines) == "scores[cat,cat] = ");
  CHECK_FALSE(has(lines, "scores[cat,cat] = 5"));
  CHECK(has(after(machine, "s\r"), "Skipped: scores[cat,cat] = 5."));
}

TEST_CASE("a quiz shows the arithmetic after two wrong answers") {
  Stepper machine = stepper({.rows = 24, .columns = 80}, false, Quiz(0));
  press(machine, "77\r78\r");
  const Lines lines = machine.frame().lines;
  CHECK(has(lines, "Not 78 either."));
  CHECK(has(lines, "  = 1·1 + 2·2"));
}

TEST_CASE("a quiz ends with what was right") {
  Stepper machine = stepper({.rows = 24, .columns = 80}, false, Quiz(0));
  press(machine, "5\rn");
  CHECK(last(machine.frame().lines).starts_with("halves["));
  press(machine, "s\rn");
  CHECK(machine.frame().lines.front() == "1 of 2 right");
}

}  // namespace interactive_stepper_tests
