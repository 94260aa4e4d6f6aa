#include "terminal/model_views.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "ops/operation.hpp"
#include "text/unicode.hpp"

namespace terminal_operations_tests {

namespace {

using namespace qkv;

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the list of operations says of each what it takes and what may be written") {
  const std::string text = operations_text(80);
  CHECK(has(text, "score         Score every query with every key\n      of = [\"Q\", \"K\"]\n"));
  CHECK(has(text, "layout = \"in-out\" or \"out-in\": "));
  CHECK(has(text, "      heads = a whole number: how many heads to cut the matrix into (must be"));
}

TEST_CASE("every operation with operands shows how they are written, within 80 columns") {
  const std::string text = operations_text(80);
  for (const Operation* operation : catalogue()) {
    INFO(operation->name);
    CHECK(has(text, std::string(operation->name) + " "));
    CHECK(operation->operands.empty() == (operation->max_operands == 0));
  }
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    CHECK(width(text.substr(begin, end - begin)) <= 80);
    begin = end + 1;
  }
}

}  // namespace terminal_operations_tests
