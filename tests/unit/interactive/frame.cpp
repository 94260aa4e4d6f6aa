#include "interactive/frame.hpp"

#include "terminal/grid.hpp"

#include <catch2/catch.hpp>

namespace interactive_frame_tests {

using namespace qkv;

TEST_CASE("a command that is wider than the window goes on below, further in") {
  CHECK(page_lines("Try:\n    qkv run the-fat-cat --set 'W_Q[head 1,1,2]=0.5'\n    ls\n", 36) ==
        std::vector<std::string>{"Try:", "    qkv run the-fat-cat --set",
                                 "      'W_Q[head 1,1,2]=0.5'", "    ls"});
}

TEST_CASE("colours take no columns") { CHECK(display_width("\x1b[7mcat\x1b[0m 猫") == 6); }

TEST_CASE("a line that is too wide ends in an ellipsis") {
  CHECK(truncated_line("scores", 6) == "scores");
  CHECK(truncated_line("scores", 5) == "scor…");
  CHECK(truncated_line("猫猫猫", 5) == "猫猫…");
}

TEST_CASE("a coloured line keeps its colours and ends them") {
  CHECK(truncated_line("\x1b[1mscores\x1b[0m and more", 9) == "\x1b[1mscores\x1b[0m a…\x1b[0m");
  CHECK(truncated_line("\x1b[1mscores\x1b[0m", 4) == "\x1b[1msco…\x1b[0m");
}

TEST_CASE("a frame is drawn line by line, each at its place") {
  CHECK(frame_bytes({.lines = {"ab", "c"}}, {.rows = 3, .columns = 2}) ==
        "\x1b[?2026h\x1b[?25l"
        "\x1b[1;1Hab"  // as wide as the window: nothing is erased behind it
        "\x1b[2;1Hc\x1b[0m\x1b[K"
        "\x1b[3;1H\x1b[0m\x1b[K"
        "\x1b[?2026l");
}

TEST_CASE("the cursor shows only where somebody types") {
  const std::string bytes =
      frame_bytes({.lines = {"set: "}, .cursor = CursorPlace{0, 5}}, {.rows = 1, .columns = 9});
  CHECK(bytes.ends_with("\x1b[1;6H\x1b[?25h\x1b[?2026l"));
}

}  // namespace interactive_frame_tests
