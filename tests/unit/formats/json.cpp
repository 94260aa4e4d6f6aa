#include "formats/arrays/arrays.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"
#include "text/strings.hpp"

namespace formats_json_tests {

namespace {

using namespace qkv;
using Values = std::vector<double>;

ParsedArray one(const std::string& text) {
  const std::vector<NamedArray> matrices = read_json(text, "a.json");
  REQUIRE(matrices.size() == 1);
  CHECK(matrices[0].name.empty());
  return matrices[0].written;
}

Values values_of(const ParsedArray& written) {
  Values values;
  for (const Numeral& cell : written.cells) values.push_back(cell.value);
  return values;
}

std::string refusal_of(const std::string& text) {
  try {
    read_json(text, "a.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST_CASE("nested arrays of any rank are one matrix") {
  CHECK(one("[[1, 2], [3, 4], [5, 6]]").shape == Shape{3, 2});
  CHECK(values_of(one("[[1, 2], [3, 4]]")) == Values{1, 2, 3, 4});
  CHECK(one("[1, 2, 3]").shape == Shape{3});
  CHECK(one("[[[1], [2]], [[3], [4]]]").shape == Shape{2, 2, 1});
}

TEST_CASE("decimals stay as they were written") {
  const ParsedArray written = one("[0.50, -12, 1.20e-3, 7.0, 3]");
  CHECK(written.cells[0].decimals == 2);
  CHECK(written.cells[1].decimals == 0);
  CHECK(written.cells[2].decimals == 5);
  CHECK(written.cells[2].scientific);
  CHECK(written.cells[3].decimals == 1);
  CHECK(written.cells[4].decimals == 0);
}

TEST_CASE("null and empty text are blank, and infinity comes in several spellings") {
  const ParsedArray written = one(R"([null, "", "-inf", "inf", NaN, -Infinity, Infinity, "0.25"])");
  CHECK(std::isnan(written.cells[0].value));
  CHECK(std::isnan(written.cells[1].value));
  CHECK(written.cells[2].value == -infinity);
  CHECK(written.cells[3].value == infinity);
  CHECK(std::isnan(written.cells[4].value));
  CHECK(written.cells[5].value == -infinity);
  CHECK(written.cells[6].value == infinity);
  CHECK(written.cells[7].value == 0.25);
  CHECK(written.cells[7].decimals == 2);
}

TEST_CASE("NaN is a number, null and an empty text are blank") {
  const ParsedArray written = one(R"([null, "", NaN, "nan"])");
  CHECK(written.cells[0].is_blank());
  CHECK(written.cells[1].is_blank());
  CHECK_FALSE(written.cells[2].is_blank());
  CHECK_FALSE(written.cells[3].is_blank());
}

TEST_CASE("reading ends where a matrix has more numbers than are wanted") {
  const auto most = [](const std::string& name) { return name == "Q" ? 2U : 3U; };
  const auto refused = [&](const std::string& text) {
    try {
      read_json(text, "a.json", {.on_bad_cell = OnBadCell::kept, .most = most});
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("nothing was refused");
  };
  CHECK(refused(R"({"Q": [1, 2], "K": [[1, 2, 3]]})") == "nothing was refused");
  CHECK(refused(R"({"K": [1, 2, 3], "Q": [1, 2, 3, this is never read)") ==
        "a.json, Q: it has more than 2 numbers, 16 times as many as the lesson can use of it: keep "
        "the step's own numbers");
  CHECK(refused("[[1, 2], [3, 4]]") ==
        "a.json: it has more than 3 numbers, 16 times as many as the lesson can use of it: keep "
        "the step's own numbers");
}

TEST_CASE("names of objects that each matrix in them would repeat have a limit") {
  const std::string name(1000, 'n');
  CHECK(refusal_of("{\"" + name + "\": {\"Q\": [1]}}") ==
        "a.json, " + std::string(40, 'n') +
            "…: the names of the objects around it have more than 1000 letters");
  CHECK(read_json("{\"" + name + "\": [1]}", "a.json").front().name == name);
}

TEST_CASE("an object names its matrices") {
  const auto matrices = read_json(R"({"Q": [[1, 2]], "NaN": [3], "one": 4})", "a.json");
  REQUIRE(matrices.size() == 3);
  CHECK(matrices[0].name == "Q");
  CHECK(matrices[0].written.shape == Shape{1, 2});
  CHECK(matrices[1].name == "NaN");
  CHECK(matrices[2].written.shape == Shape{1});
}

TEST_CASE("what is wrong is told with its place") {
  CHECK(refusal_of("[[1, 2], [3]]") ==
        "a.json: entry 2 has 1 entry, the one before it has 2: write rows of numbers: "
        "[[1, 2], [3, 4]]");
  CHECK(refusal_of("[[1, 2], 3]") ==
        "a.json: entry 2 is a number where a list was expected: write rows of numbers: "
        "[[1, 2], [3, 4]]");
  CHECK(refusal_of("[[1, [2]]]") ==
        "a.json: entry 1,2 is a list where a number was expected: write rows of numbers: "
        "[[1, 2], [3, 4]]");
  CHECK(refusal_of(R"({"Q": [[1, 2], []]})") ==
        "a.json, Q: entry 2 is an empty list: write rows of numbers: [[1, 2], [3, 4]]");
  CHECK(refusal_of("[[1,\n 2x]]") ==
        "a.json: line 2, column 3: this is no JSON; write rows of numbers: [[1, 2], [3, 4]]");
  CHECK(refusal_of("[[1, 2]") ==
        "a.json: line 1, column 8: the text ends too early, or something is missing; write rows of "
        "numbers: [[1, 2], [3, 4]]");
  CHECK(refusal_of(R"([["a"]])") == R"(a.json: "a" is not a number: write it like 0.25 or 2.5e-3)");
  CHECK(refusal_of("[1e400]") ==
        "a.json: \"1e400\" is too large: a number goes up to 1.79e308; for infinity write inf");
  CHECK(refusal_of("") == "a.json: the file is empty: write rows of numbers: [[1, 2], [3, 4]]");
  CHECK(refusal_of("{}") ==
        "a.json: there is nothing in it; write rows of numbers: [[1, 2], [3, 4]]");
  CHECK(refusal_of("7") == "a.json: write rows of numbers: [[1, 2], [3, 4]]");
  CHECK(refusal_of("[true]") ==
        "a.json: true and false are no numbers; write rows of numbers: [[1, 2], [3, 4]]");
  CHECK(refusal_of(R"({"Q": [1], "Q": [2]})") == R"(a.json, Q: "Q" stands in it twice)");
  CHECK(refusal_of(R"({"Q": [[1], {"a": 2}]})") ==
        "a.json, Q: an object stands where numbers were expected; write rows of numbers: "
        "[[1, 2], [3, 4]]");
}

TEST_CASE("a million brackets are refused, not followed") {
  CHECK(refusal_of(std::string(1'000'000, '[')) ==
        "a.json: lists are nested more than 16 deep: write rows of numbers: [[1, 2], [3, 4]]");
}

std::string written(const std::vector<NamedTensor>& tensors, std::optional<int> digits = {}) {
  std::string text;
  write_json(tensors, digits, [&](std::string_view piece) { text += piece; });
  return text;
}

TEST_CASE("matrices are written as nested lists, a row a line, all digits") {
  const Tensor matrix = tensor_of({2, 2}, {1, 0.1, -infinity, infinity});
  const Tensor heads = tensor_of({2, 1, 1}, {1e300, std::nan("")});
  CHECK(written({{"A", matrix}, {"h0.V", heads}}) == R"({
  "A": [
    [1, 0.1],
    ["-inf", "inf"]
  ],
  "h0.V": [
    [
      [1e+300]
    ],
    [
      ["nan"]
    ]
  ]
}
)");
  CHECK(written({}) == "{}\n");
}

TEST_CASE("a vector is one list; digits round") {
  const Tensor ids = tensor_of({3}, {3, -1e-9, 0.125});
  CHECK(written({{"ids", ids}}, 2) == "{\n  \"ids\": [3.00, 0.00, 0.12]\n}\n");
}

TEST_CASE("what is written as JSON comes back") {
  const Tensor matrix = tensor_of({1, 3}, {0.1, 5e-324, -infinity});
  const auto back = read_json(written({{"A", matrix}}), "a.json");
  CHECK(back[0].name == "A");
  CHECK(back[0].written.shape == Shape{1, 3});
  CHECK(values_of(back[0].written) == Values{0.1, 5e-324, -infinity});
}

TEST_CASE("very many names take no longer than their length") {
  // Each looked for among all before it, these would take minutes.
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += "\"name" + std::to_string(i) + "\": 1,";
  text.back() = '}';
  CHECK(read_json(text, "a.json").size() == 200'000);
}

TEST_CASE("a number that no double holds costs its cell where cells may be lost") {
  const std::string text = "{\"Q\": [[1e400, 2], [-1.5E+999, 0.5e-400]], \"note\": \"3e999\"}";
  const ParsedArray kept =
      read_json(text, "a.json", {.on_bad_cell = OnBadCell::kept}).front().written;
  CHECK(kept.bad_texts == std::vector<std::string>{"1e400", "-1.5E+999"});
  CHECK(kept.cells[1].value == 2);
  CHECK(kept.cells[3].value == 0);
  CHECK_THROWS_WITH(read_json("[[1, 1e400]]", "a.json"), Catch::Contains("\"1e400\" is too large"));
}

TEST_CASE("very many numbers that are too large take no longer than their length") {
  std::string text = "[1e999";
  for (int i = 0; i < 300'000; ++i) text += ",1e999";
  CHECK(read_json(text + "]", "a.json", {.on_bad_cell = OnBadCell::kept})
            .front()
            .written.cells.size() == 300'001);
}

}  // namespace

}  // namespace formats_json_tests
