// append, take and the masks of queries that are the last tokens, beside what they must be by eye.

#include <catch2/catch.hpp>
#include <limits>

#include "support/calls.hpp"

namespace ops_cache_tests {

using namespace qkv::test;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
const qkv::Tensor two_of_four = matrix({{1, 2, 3, 4}, {5, 6, 7, 8}});

OptionMap masked(std::string kind, OptionMap more = {}) {
  more["kind"] = std::move(kind);
  return more;
}

}  // namespace

TEST_CASE("new rows stand below those that are kept, in every head") {
  CHECK(difference(rows_of(apply("append", {matrix({{1, 2}}), matrix({{3, 4}, {5, 6}})})),
                   {{1, 2}, {3, 4}, {5, 6}}) == "");
  const qkv::Tensor heads = apply("append", {stack({{{1}}, {{2}}}), stack({{{3}}, {{4}}})});
  CHECK(heads.shape() == qkv::Shape{2, 2, 1});
  CHECK(difference(rows_of(heads, 1), {{2}, {4}}) == "");
  CHECK(refusal("append", {matrix({{1, 2}}), matrix({{3}})}) ==
        "step: column is 2 in A (1×2) but 1 in B (1×1)");
}

TEST_CASE("labels go with their rows, into the cache and out of it") {
  const qkv::Tensor all = apply(
      "append", {labelled(matrix({{1}, {2}}), {"the", "cat"}), labelled(matrix({{3}}), {"sat"})});
  CHECK(all.row_axis().label(2) == "sat");
  const qkv::Tensor last = apply("take", {all}, {{"rows", qkv::OptionSpan{2, 3}}});
  CHECK(difference(rows_of(last), {{2}, {3}}) == "");
  CHECK(last.row_axis().label(0) == "cat");
}

TEST_CASE("take cuts rows, columns and heads") {
  const qkv::Tensor heads = stack({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}});
  const qkv::Tensor cut = apply("take", {heads},
                                {{"rows", qkv::OptionSpan{2, 2}},
                                 {"columns", qkv::OptionSpan{1, 1}},
                                 {"heads", qkv::OptionSpan{2, 2}}});
  CHECK(cut.shape() == qkv::Shape{1, 1, 1});
  CHECK(difference(rows_of(cut), {{7}}) == "");
  CHECK(refusal("take", {two_of_four}, {{"rows", qkv::OptionSpan{1, 3}}}) ==
        "step: rows = [1, 3], but A (2×4) has 2");
  CHECK(refusal("take", {two_of_four}, {{"heads", qkv::OptionSpan{1, 1}}}) ==
        "step: A (2×4) has no axis of heads to take some of");
}

TEST_CASE("fewer queries than keys are the last tokens, or the first if the lesson says so") {
  CHECK(difference(rows_of(apply("mask", {two_of_four})), {{1, 2, 3, -inf}, {5, 6, 7, 8}}) == "");
  CHECK(difference(rows_of(apply("mask", {two_of_four},
                                 masked("causal", {{"align", std::string("start")}}))),
                   {{1, -inf, -inf, -inf}, {5, 6, -inf, -inf}}) == "");
}

TEST_CASE("a window shows the newest keys, the token's own among them") {
  CHECK(
      difference(rows_of(apply("mask", {two_of_four}, masked("sliding_window", {{"width", 2.0}}))),
                 {{-inf, 2, 3, -inf}, {-inf, -inf, 7, 8}}) == "");
  CHECK(difference(rows_of(apply(
                       "mask", {two_of_four},
                       masked("sliding_window",
                              {{"width", 2.0}, {"both", true}, {"align", std::string("start")}}))),
                   {{1, 2, -inf, -inf}, {5, 6, 7, -inf}}) == "");
  CHECK(refusal("mask", {two_of_four}, masked("sliding_window")) ==
        "step: kind = \"sliding_window\" needs width = …");
}

TEST_CASE("a prefix is for all") {
  CHECK(difference(
            rows_of(apply("mask", {two_of_four},
                          masked("prefix", {{"prefix", 3.0}, {"align", std::string("start")}}))),
            {{1, 2, 3, -inf}, {5, 6, 7, -inf}}) == "");
}

}  // namespace ops_cache_tests
