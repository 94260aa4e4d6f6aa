#include "text/strings.hpp"

#include <catch2/catch.hpp>

namespace text_error_tests {

using namespace qkv;

TEST_CASE("a zero byte does not end a message that quotes it") {
  const InputError error(std::string("a\0b is no name", 14));
  CHECK(std::string(error.what()) == "a\\0b is no name");
}

TEST_CASE("a name in a message begins no new line") {
  CHECK(on_one_line("a\nb\n") == "a\\nb\\n");
  CHECK_THROWS_WITH(refuse("a\nb.csv", "is empty"), "a\\nb.csv: is empty");
  CHECK(std::string(InputError("{} exists", "a\nb.csv").what()) == "a\\nb.csv exists");
}

TEST_CASE("each of several faults has a line of its own") {
  const InputError error(std::vector<std::string>{"a\nb: no op", "c: no name"});
  CHECK(std::string(error.what()) == "a\\nb: no op\nc: no name");
}

}  // namespace text_error_tests
