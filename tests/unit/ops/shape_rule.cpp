#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "ops/cell.hpp"
#include "ops/operation.hpp"
#include "support/calls.hpp"

namespace ops_shape_rule_tests {

using namespace qkv::test;
using Labels = std::vector<std::string>;

TEST_CASE("sizes that must be equal are told with their axis, both operands and both shapes") {
  CHECK(refusal("score", {matrix({{1, 2}}), matrix({{1, 2, 3}})}) ==
        "step: d_k is 2 in A (1×2) but 3 in B (1×3)");
  CHECK(refusal("weighted_sum", {matrix({{1, 2}}), matrix({{1, 2, 3}})}) ==
        "step: key is 2 in A (1×2) but 1 in B (1×3)");
  CHECK(refusal("matmul", {matrix({{1, 2}}), matrix({{1, 2}})}) ==
        "step: inner is 2 in A (1×2) but 1 in B (1×2)");
  CHECK(refusal("add", {matrix({{1, 2}}), matrix({{1, 2}, {3, 4}})}) ==
        "step: row is 1 in A (1×2) but 2 in B (2×2)");
}

TEST_CASE("leading axes that differ are told by their name") {
  const Rows one = {{1}};
  CHECK(refusal("score", {stack({one, one}, "head"), stack({one, one, one}, "head")}) ==
        "step: head is 2 in A (2×1×1) but 3 in B (3×1×1)");
  CHECK(refusal("add", {stack({one, one}, "batch"), stack({one, one, one}, "batch")}) ==
        "step: batch is 2 in A (2×1×1) but 3 in B (3×1×1)");
  CHECK(refusal("add", {stack({one, one}, ""), stack({one, one, one}, "")}) ==
        "step: the leading axis is 2 in A (2×1×1) but 3 in B (3×1×1)");
}

TEST_CASE(
    "a leading axis without a name takes the other operand's, also where heads may be shared") {
  const Rows one = {{1}};
  const qkv::Tensor scores = apply("score", {stack({one, one}, ""), stack({one, one}, "head")});
  CHECK(scores.axes[0].name == "head");
  CHECK(scores.axes[0].size == 2);
}

TEST_CASE("leading axes of size 1 or missing repeat") {
  const qkv::Tensor batch = stack({{{1, 2}}, {{3, 4}}}, "batch");
  const qkv::Tensor added = apply("add", {batch, matrix({{10, 20}})});
  CHECK(difference(rows_of(added, 0), {{11, 22}}) == "");
  CHECK(difference(rows_of(added, 1), {{13, 24}}) == "");
  CHECK(added.axes[0].name == "batch");
  const qkv::Tensor again = apply("add", {stack({{{10, 20}}}, "batch"), batch});
  CHECK(again.shape() == qkv::Shape{2, 1, 2});
  CHECK(difference(rows_of(again, 1), {{13, 24}}) == "");
}

TEST_CASE("heads meet a batch of heads") {
  qkv::Tensor batch = qkv::zeros({{"batch", 2}, {"head", 2}, {"token", 1}, {"d_k", 1}});
  batch.values = {10, 20, 30, 40};
  const qkv::Tensor added = apply("add", {stack({{{1}}, {{2}}}, "head"), batch});
  CHECK(added.shape() == qkv::Shape{2, 2, 1, 1});
  CHECK(added.values == std::vector<double>{11, 22, 31, 42});
}

TEST_CASE("a batch of weights meets heads of keys: every pair of leading indices") {
  // [batch 2][head 1] queries and [head 3] keys make 2×3 matrices.
  qkv::Tensor q = qkv::zeros({{"batch", 2}, {"head", 1}, {"token", 1}, {"d_k", 1}});
  q.values = {1, 10};
  const qkv::Tensor k = stack({{{1}}, {{2}}, {{3}}}, "head");
  const qkv::Tensor scores = apply("score", {q, k});
  CHECK(scores.shape() == qkv::Shape{2, 3, 1, 1});
  CHECK(scores.values == std::vector<double>{1, 2, 3, 10, 20, 30});
}

TEST_CASE("labels come from whichever operand has them") {
  const qkv::Tensor scores = apply(
      "score", {labelled(matrix({{1}, {2}}), {"fat", "cat"}), labelled(matrix({{3}}), {"mat"})});
  CHECK(scores.axes[0].name == "query");
  CHECK(scores.axes[0].labels == Labels{"fat", "cat"});
  CHECK(scores.axes[1].name == "key");
  CHECK(scores.axes[1].labels == Labels{"mat"});
  const qkv::Tensor projected = apply("project", {labelled(matrix({{1}, {2}}), {"fat", "cat"}),
                                                  labelled(matrix({{1, 2}}), {}, {"f1", "f2"})});
  CHECK(projected.axes[0].labels == Labels{"fat", "cat"});
  CHECK(projected.axes[1].labels == Labels{"f1", "f2"});
}

TEST_CASE("transpose turns labels over with their numbers") {
  const qkv::Tensor transposed =
      apply("transpose", {labelled(matrix({{1, 2, 3}, {4, 5, 6}}), {"a", "b"}, {"x", "y", "z"})});
  CHECK(difference(rows_of(transposed), {{1, 4}, {2, 5}, {3, 6}}) == "");
  CHECK(transposed.axes[0].labels == Labels{"x", "y", "z"});
  CHECK(transposed.axes[1].labels == Labels{"a", "b"});
  CHECK(difference(rows_of(apply("transpose", {vector({1, 2})})), {{1}, {2}}) == "");
}

TEST_CASE("a product is worked out row by column") {
  const Rows a = {{1, 2}, {3, 4}};
  const Rows b = {{5, 6}, {7, 8}};
  CHECK(difference(rows_of(apply("matmul", {matrix(a), matrix(b)})), {{19, 22}, {43, 50}}) == "");
  CHECK(difference(rows_of(apply("weighted_sum", {matrix(a), matrix(b)})), {{19, 22}, {43, 50}}) ==
        "");
  CHECK(difference(rows_of(apply("score", {matrix(a), matrix(b)})), {{17, 23}, {39, 53}}) == "");
}

TEST_CASE("an option says in words what it may be") {
  using qkv::complaint;
  constexpr std::string_view list[] = {"in-out", "out-in"};
  const qkv::OptionRule listed{.name = "layout", .help = "", .list = list};
  CHECK(complaint(listed, std::string("out-in")) == "");
  CHECK(complaint(listed, std::string("inout")) ==
        "layout is \"in-out\" or \"out-in\", not \"inout\"");
  CHECK(complaint(listed, 2.0) == "layout is \"in-out\" or \"out-in\", not 2");
  const qkv::OptionRule whole{
      .name = "heads", .help = "", .numbers = qkv::OptionRule::Numbers::whole};
  CHECK(complaint(whole, 2.0) == "");
  CHECK(complaint(whole, 2.5) == "heads is a whole number, not 2.5");
  CHECK(complaint(whole, true) == "heads is a whole number, not true");
  const qkv::OptionRule flag{.name = "lowercase", .help = "", .flag = true};
  CHECK(complaint(flag, false) == "");
  CHECK(complaint(flag, std::string("yes")) == "lowercase is true or false, not \"yes\"");
}

TEST_CASE("an axis that a form only counts keeps the operand's name, any other gets the form's") {
  for (const char* name : {"row", "column", "inner"}) CHECK(qkv::is_placeholder(name));
  for (const char* name : {"query", "key", "d_k", "", "rows"})
    CHECK_FALSE(qkv::is_placeholder(name));
  const qkv::Tensor own = named(matrix({{1, 2}}), {"query", "d_v"});
  const qkv::Tensor sum = apply("add", {own, own});
  CHECK(sum.axes[0].name == "query");
  CHECK(sum.axes[1].name == "d_v");
  CHECK(apply("score", {own, own}).axes[1].name == "key");
}

}  // namespace ops_shape_rule_tests
