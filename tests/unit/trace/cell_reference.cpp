#include "trace/trace.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "support/calls.hpp"
#include "text/strings.hpp"

namespace trace_cell_reference_tests {

using namespace qkv;
using namespace qkv::test;

namespace {

std::string indices(std::string_view text) {
  std::string all;
  for (const std::string& index : parse_reference(text).indices) all += "<" + index + ">";
  return all;
}

/// Where a reference leads: "matrix row column", counted from 0, with a token as a row.
std::string place(std::string_view text, const Tensor& tensor,
                  TokenLayout token_layout = TokenLayout::rows) {
  try {
    const CellReference cell = resolve_in(parse_reference(text), tensor, token_layout);
    return std::to_string(cell.matrix) + " " + std::to_string(cell.row) + " " +
           std::to_string(cell.column);
  } catch (const InputError& error) {
    return error.what();
  }
}

/// The reference read and written again.
std::string again(std::string_view text, const Tensor& tensor,
                  TokenLayout token_layout = TokenLayout::rows) {
  return reference_text(resolve_in(parse_reference(text), tensor, token_layout), tensor,
                        token_layout);
}

Tensor words() {  // 7×2, a row for each token
  return labelled(named(zeros({{"", 7}, {"", 2}}), {"token", "d_k"}),
                  {"the", "fat", "cat", "sat", "on", "the", "mat"});
}

Tensor scores() {  // queries × keys
  Tensor tensor = named(zeros({{"", 3}, {"", 3}}), {"query", "key"});
  return labelled(tensor, {"the", "fat", "cat"}, {"the", "fat", "cat"});
}

Tensor heads() {  // [head 2][query 3][key 3]
  Tensor tensor = scores();
  tensor.axes.insert(tensor.axes.begin(), Axis{.name = "head", .size = 2});
  tensor.values = std::vector<double>(18);
  return tensor;
}

Tensor batch_of_heads() {  // two sentences with words of their own
  Tensor tensor = zeros({{"batch", 2}, {"head", 3}, {"query", 2}, {"key", 2}});
  tensor.axes[2].labels = tensor.axes[3].labels = {"so", "it", "it", "is"};
  return tensor;
}

}  // namespace

TEST_CASE("a cell is a name and its indices") {
  CHECK(parse_reference("scores[3,2]").name == "scores");
  CHECK(indices("scores[3,2]") == "<3><2>");
  CHECK(indices(" h0.scores [ head 2 , 3 ,2 ] ") == "<head 2><3><2>");
  CHECK(indices("scores[\"a,b\",\",\"]") == "<\"a,b\"><\",\">");
  CHECK(indices("scores[\",cat]") == "<\"><cat>");
  CHECK(indices("scores[\"\"\",cat]") == "<\"\"\"><cat>");
  CHECK(indices("ids[1]") == "<1>");
}

TEST_CASE("a cell's name may be copied from a page, which has no-break spaces") {
  const Tensor scores = named(zeros({{"head", 2}, {"", 3}, {"", 3}}), {"head", "", ""});
  CHECK(place("scores[head\u00a02,3,1]", scores) == "1 2 0");
}

TEST_CASE("what is no cell is told with one that is") {
  for (const std::string text : {"scores", "scores[3,2", "[3,2]", "scores]", "", "scores[3,2]x"}) {
    CHECK_THROWS_WITH(parse_reference(text),
                      "\"" + text + "\" is not a cell; write the matrix and the cell: scores[3,2]");
  }
}

TEST_CASE("indices count from 1") {
  CHECK(place("A[1,1]", words()) == "0 0 0");
  CHECK(place("A[7,2]", words()) == "0 6 1");
  CHECK(place("A[0,1]", words()) == "A[0,1]: there is no row 0; they count from 1 to 7");
  CHECK(place("A[8,1]", words()) == "A[8,1]: there is no row 8; they count from 1 to 7");
  CHECK(place("A[1,3]", words()) == "A[1,3]: there is no column 3; they count from 1 to 2");
  CHECK(place("A[1,99999999999999999999]", words()) ==
        "A[1,99999999999999999999]: no column is called \"99999999999999999999\"; they count from "
        "1 to 2");
  CHECK(place("A[-1,1]", words()) == "A[-1,1]: no row is called \"-1\"; they count from 1 to 7");
  CHECK(place("A[1,1]", zeros({{"", 0}, {"", 2}})) == "A[1,1]: there is no row 1; there are none");
}

TEST_CASE("a token stands for its index") {
  CHECK(place("S[cat,fat]", scores()) == "0 2 1");
  CHECK(place("S[cat, 2]", scores()) == "0 2 1");
  CHECK(place("S[\"cat\",\"fat\"]", scores()) == "0 2 1");
}

TEST_CASE("a token that stands at two places must be told by its number") {
  CHECK(place("X[the,1]", words()) == "X[the,1]: \"the\" stands at rows 1 and 6; write the number");
  Tensor ambiguous = scores();
  ambiguous.axes[1].labels = {"a", "b", "a"};
  CHECK(place("S[1,a]", ambiguous) == "S[1,a]: \"a\" stands at columns 1 and 3; write the number");
}

TEST_CASE("a token that is not there gets the nearest, or how the rows count") {
  CHECK(place("X[catt,1]", words()) ==
        "X[catt,1]: no row is called \"catt\"; did you mean \"cat\"?");
  CHECK(place("X[elephant,1]", words()) ==
        "X[elephant,1]: no row is called \"elephant\"; they count from 1 to 7");
  CHECK(place("X[cat,fat]", words()) ==
        "X[cat,fat]: no column is called \"fat\"; they count from 1 to 2");
  CHECK(place("X[cat,]", words()) == "X[cat,]: no column is called \"\"; they count from 1 to 2");
}

TEST_CASE("a label that files and pages make up stands for its index") {
  const Tensor features = labelled(zeros({{"query", 2}, {"d_k", 3}}), {}, {});
  CHECK(place("Q[query 2,d3]", features) == "0 1 2");
  CHECK(place("Q[\"query 2\",1]", features) == "0 1 0");
  CHECK(place("Q[1,d4]", features) ==
        "Q[1,d4]: no column is called \"d4\"; they count from 1 to 3");
  CHECK(place("Q[1,d0]", features) ==
        "Q[1,d0]: no column is called \"d0\"; they count from 1 to 3");
  const Tensor plain = zeros({{"", 2}, {"", 3}});
  CHECK(place("A[row 2,column 3]", plain) == "0 1 2");
  CHECK(place("A[column 2,1]", plain) ==
        "A[column 2,1]: no row is called \"column 2\"; they count from 1 to 2");
}

TEST_CASE("a label that is a number is meant by quoting it") {
  const Tensor years = labelled(zeros({{"", 2}, {"", 2}}), {"2", "1"}, {"a,b", "]"});
  CHECK(place("Y[2,1]", years) == "0 1 0");
  CHECK(place("Y[\"2\",1]", years) == "0 0 0");
  CHECK(place("Y[1,\"a,b\"]", years) == "0 0 0");
  CHECK(again("Y[1,1]", years) == "Y[1,\"a,b\"]");
  CHECK(again("Y[2,2]", years) == "Y[2,\"]\"]");
  // Where no index is as high, it can only be the label.
  const Tensor later = labelled(zeros({{"", 2}, {"", 2}}), {"1999", "2026"}, {"1", "2"});
  CHECK(place("Y[2026,1]", later) == "0 1 0");
}

TEST_CASE("heads come before rows and columns, by name or by number") {
  CHECK(place("S[head 2,3,2]", heads()) == "1 2 1");
  CHECK(place("S[2,cat,fat]", heads()) == "1 2 1");
  CHECK(place("S[head 3,1,1]", heads()) ==
        "S[head 3,1,1]: there is no head 3; they count from 1 to 2");
  CHECK(place("S[cat,1,1]", heads()) == "S[cat,1,1]: \"cat\" is no head; write head 1 to head 2");
  CHECK(place("S[3,2]", heads()) == "S[3,2]: S is 2×3×3 and takes 3 indices, as in S[head 1,3,2]");
}

TEST_CASE("the batch comes before the heads, and each sentence has its own words") {
  CHECK(place("S[batch 2,head 3,1,1]", batch_of_heads()) == "5 0 0");
  CHECK(place("S[1,2,it,so]", batch_of_heads()) == "1 1 0");
  CHECK(place("S[2,2,it,is]", batch_of_heads()) == "4 0 1");
  CHECK(place("S[2,2,so,is]", batch_of_heads()) ==
        "S[2,2,so,is]: no row is called \"so\"; they count from 1 to 2");
  CHECK(place("S[1,1]", batch_of_heads()) ==
        "S[1,1]: S is 2×3×2×2 and takes 4 indices, as in S[batch 1,head 1,1,1]");
}

TEST_CASE("a vector takes one index, or a row 1 before it") {
  Tensor ids = vector({4, 5, 6});
  ids.axes[0].labels = {"the", "fat", "cat"};
  CHECK(place("ids[2]", ids) == "0 0 1");
  CHECK(place("ids[cat]", ids) == "0 0 2");
  CHECK(place("ids[1,3]", ids) == "0 0 2");
  CHECK(place("ids[2,1]", ids) == "ids[2,1]: there is no row 2; they count from 1 to 1");
  CHECK(place("ids[1,1,1]", ids) == "ids[1,1,1]: ids is 3 and takes 1 index, as in ids[1]");
  CHECK(again("ids[1,3]", ids) == "ids[cat]");
}

TEST_CASE("with tokens as columns the second index is the token") {
  const TokenLayout columns = TokenLayout::columns;
  CHECK(place("X[1,cat]", words(), columns) == "0 2 0");
  CHECK(place("X[3,1]", words(), columns) == "X[3,1]: there is no row 3; they count from 1 to 2");
  CHECK(place("S[fat,cat]", scores(), columns) == "0 2 1");
  CHECK(again("S[fat,cat]", scores(), columns) == "S[fat,cat]");
  CHECK(place("X[1,1,1]", words(), columns) ==
        "X[1,1,1]: X is 2×7 and takes 2 indices, as in X[1,1]");
  CHECK(place("ids[2]", vector({1, 2}), columns) == "0 0 1");
}

TEST_CASE("a cell is written with its labels, and with a number where they repeat") {
  CHECK(again("X[3,1]", words()) == "X[cat,1]");
  CHECK(again("X[6,2]", words()) == "X[6,2]");
  CHECK(again("S[2,3,2]", heads()) == "S[head 2,cat,fat]");
  CHECK(again("S[2,1,2,1]", batch_of_heads()) == "S[batch 2,head 1,is,it]");
}

TEST_CASE("a label with both a comma and a quote is written as its number") {
  const Tensor tensor = labelled(matrix({{1, 2, 3}}), {"x"}, {"a\",b", "a,b", "a\"b"});
  CHECK(again("M[x,1]", tensor) == "M[x,1]");
  CHECK(again("M[x,2]", tensor) == "M[x,\"a,b\"]");
  CHECK(again("M[x,3]", tensor) == "M[x,\"a\"b\"]");
  CHECK(place("M[x,\"a\"b\"]", tensor) == "0 0 2");
}

TEST_CASE("a matrix that is not there gets the nearest name") {
  Recipe recipe;
  recipe.givens = {{"X", matrix({{1, 2}})}};
  recipe.steps = {{"scores", find_operation("score"), {"X", "X"}, {}}};
  const Trace trace = evaluate(recipe);
  CHECK(resolve(parse_reference("scores[1,1]"), trace).name == "scores");
  CHECK_THROWS_WITH(resolve(parse_reference("score[1,1]"), trace),
                    "there is no matrix named \"score\"; did you mean \"scores\"?");
  CHECK_THROWS_WITH(resolve(parse_reference("weights[1,1]"), trace),
                    "there is no matrix named \"weights\"; this lesson has X, scores");
  CHECK_THROWS_WITH(trace.step_at("Y"), "there is no step named \"Y\"; this lesson has scores");
  CHECK_THROWS_WITH(trace.step_at("X"),
                    "there is no step, only a given matrix, named \"X\"; this lesson has scores");
}

TEST_CASE("a star stands for every place along its axis") {
  Recipe recipe;
  recipe.givens = {{"W", stack({{{1, 2, 3}, {4, 5, 6}}, {{7, 8, 9}, {10, 11, 12}}})},
                   {"b", vector({1, 2})}};
  recipe.steps = {{"turned", find_operation("transpose"), {"W"}, {}}};
  Trace trace = evaluate(recipe);
  const auto places = [&](std::string_view text) {
    std::string all;
    for (const CellReference& cell : resolve_all(parse_reference(text), trace)) {
      all += std::to_string(cell.matrix) + std::to_string(cell.row) + std::to_string(cell.column) +
             " ";
    }
    return all;
  };
  CHECK(places("W[head 2,*,*]") == "100 101 102 110 111 112 ");
  CHECK(places("W[*,2,3]") == "012 112 ");
  CHECK(places("W[2,1,2]") == "101 ");
  CHECK(places("b[*]") == "000 001 ");
  CHECK(places("b[*,*]") == "000 001 ");
  CHECK_THROWS_WITH(places("W[3,*,*]"), "W[3,1,1]: there is no head 3; they count from 1 to 2");
  CHECK_THROWS_WITH(places("W[*,*]"),
                    "W[1,1]: W is 2×2×3 and takes 3 indices, as in W[head 1,1,1]");
  trace.token_layout = TokenLayout::columns;  // the same cells, by the words of the transpose
  CHECK(places("W[2,*,1]") == "100 101 102 ");
  CHECK(places("W[2,3,*]") == "102 112 ");
}

}  // namespace trace_cell_reference_tests
