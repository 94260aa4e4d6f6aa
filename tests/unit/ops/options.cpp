#include "ops/operation.hpp"

#include <catch2/catch.hpp>
#include <limits>

namespace ops_options_tests {

/// What a step's option may be, and how a refusal says so.
namespace {

using namespace qkv;
using Numbers = OptionRule::Numbers;

constexpr std::string_view layouts[] = {"in-out", "out-in"};

TEST_CASE("an option takes the words that are listed, or any") {
  const OptionRule listed{.name = "layout", .help = "", .list = layouts};
  CHECK(complaint(listed, "out-in").empty());
  CHECK(complaint(listed, "inout") == R"(layout is "in-out" or "out-in", not "inout")");
  CHECK(complaint(listed, 2.0) == R"(layout is "in-out" or "out-in", not 2)");
  CHECK(complaint(listed, true) == R"(layout is "in-out" or "out-in", not true)");
  const OptionRule any{.name = "pad", .help = "", .any_word = true};
  CHECK(complaint(any, "whatever").empty());
  CHECK(complaint(any, 1.0) == "pad is a word in quotes, not 1");
}

TEST_CASE("an option takes the numbers of its kind, and none that is infinite") {
  const auto of = [](Numbers numbers, double x) {
    return complaint({.name = "k", .help = "", .numbers = numbers}, x);
  };
  CHECK(of(Numbers::any, -2.5).empty());
  CHECK(of(Numbers::any, std::numeric_limits<double>::infinity()) == "k is a number, not inf");
  CHECK(of(Numbers::whole, -3).empty());
  CHECK(of(Numbers::whole, 2.5) == "k is a whole number, not 2.5");
  CHECK(of(Numbers::positive, 1e-9).empty());
  CHECK(of(Numbers::positive, 0) == "k is a number above 0, not 0");
  CHECK(of(Numbers::not_negative, 0).empty());
  CHECK(of(Numbers::not_negative, -1) == "k is a number from 0 up, not -1");
  const OptionRule flag{.name = "both", .help = "", .flag = true};
  CHECK(complaint(flag, false).empty());
  CHECK(complaint(flag, 1.0) == "both is true or false, not 1");
}

TEST_CASE("a span goes from one place to the same or a later one") {
  const OptionRule rows{.name = "rows", .help = "", .span = true};
  const auto of = [&](double from, double to) { return complaint(rows, OptionSpan{from, to}); };
  CHECK(of(1, 3).empty());
  CHECK(of(2, 2).empty());
  CHECK(of(3, 1) == "rows is [from, to], counted from 1, not [3, 1]");
  CHECK(of(0, 1) == "rows is [from, to], counted from 1, not [0, 1]");
  CHECK(of(1.5, 2) == "rows is [from, to], counted from 1, not [1.5, 2]");
  CHECK(of(1, 2.5) == "rows is [from, to], counted from 1, not [1, 2.5]");
  CHECK(of(1, 1e15) == "rows is [from, to], counted from 1, not [1, 1000000000000000]");
  const OptionRule none{.name = "rows", .help = "", .flag = true};
  CHECK(complaint(none, OptionSpan{1, 2}) == "rows is true or false, not [1, 2]");
}

TEST_CASE("an option that is renamed takes the value of the other name, or none") {
  Options written;
  written.set("rows", OptionSpan{1, 2});
  Options shown = written;
  shown.rename(written, "columns", "rows");
  CHECK_FALSE(shown.has("rows"));
  shown.rename(written, "rows", "columns");
  CHECK(std::get<OptionSpan>(*shown.find("columns")) == OptionSpan{1, 2});
}

TEST_CASE("an option holds the bytes of the file that it names") {
  Options options;
  options.set_contents("merges", "a b");
  CHECK(options.contents("merges") == "a b");
  CHECK(options.contents("vocab").empty());
}

}  // namespace

}  // namespace ops_options_tests
