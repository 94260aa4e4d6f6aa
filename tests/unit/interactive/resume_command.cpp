#include "interactive/stepper.hpp"

#include <catch2/catch.hpp>

#include "tiny.hpp"

namespace interactive_resume_command_tests {

using namespace qkv;
using namespace qkv::test;

TEST_CASE("the line to go on with carries what was set, quoted for a shell") {
  Walkthrough walk = tiny_walk();
  CHECK(resume_command(walk, {}, "") == "");
  set_cell(walk, "X[cat,thing]=1/3");
  CHECK(resume_command(walk, {}, "") ==
        "To go on from here: qkv run tiny.toml --set 'X[cat,thing]=1/3'\n");
  walk.at = 1;
  walk.style.digits = 2;
  CHECK(resume_command(walk, {}, " --plain") ==
        "To go on from here: qkv run tiny.toml --set 'X[cat,thing]=1/3' --plain --digits 2 --from "
        "halves\n");
  undo(walk);
  CHECK(resume_command(walk, {}, "") == "");  // at the end, with the lesson's own numbers
}

TEST_CASE("a quiz that is left says how to go on, and one that is over does not") {
  Walkthrough walk = tiny_walk();
  std::optional<Quiz> quiz(0);
  quiz->ask(walk);
  CHECK(resume_command(walk, quiz, " --quiz") == "");
  quiz->answer(walk, "5");
  walk.at = 1;
  quiz->ask(walk);
  CHECK(resume_command(walk, quiz, " --quiz") ==
        "To go on from here: qkv run tiny.toml --quiz --from halves\n");
  quiz->answer(walk, "s");
  CHECK(resume_command(walk, quiz, " --quiz") == "");
}

TEST_CASE("of several steps that were asked for, those that are left are asked for again") {
  Walkthrough walk = walkthrough(tiny(), {0, 1, {0, 1}}, {});
  set_cell(walk, "X[1,1]=2");
  walk.at = 1;
  CHECK(resume_command(walk, {}, "") ==
        "To go on from here: qkv run tiny.toml --set 'X[1,1]=2' --step halves\n");
}

}  // namespace interactive_resume_command_tests
