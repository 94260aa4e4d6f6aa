#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "support/calls.hpp"

namespace ops_heads_tests {

using namespace qkv::test;
using Labels = std::vector<std::string>;

namespace {
OptionMap heads(double count) { return {{"heads", count}}; }
const OptionMap two_by_rows = {{"heads", 2.0}, {"axis", std::string("rows")}};
}  // namespace

TEST_CASE("head 1 has the first columns") {
  const qkv::Tensor split = apply("split_heads", {matrix({{1, 2, 3, 4}, {5, 6, 7, 8}})}, heads(2));
  CHECK(split.shape() == qkv::Shape{2, 2, 2});
  CHECK(split.axes[0].name == "head");
  CHECK(difference(rows_of(split, 0), {{1, 2}, {5, 6}}) == "");
  CHECK(difference(rows_of(split, 1), {{3, 4}, {7, 8}}) == "");
}

TEST_CASE("W_O is cut along its rows, one block for each head") {
  const qkv::Tensor split =
      apply("split_heads", {matrix({{1, 2}, {3, 4}, {5, 6}, {7, 8}})}, two_by_rows);
  CHECK(difference(rows_of(split, 0), {{1, 2}, {3, 4}}) == "");
  CHECK(difference(rows_of(split, 1), {{5, 6}, {7, 8}}) == "");
}

TEST_CASE("splitting and joining again changes nothing, in a batch neither") {
  const qkv::Tensor batch =
      stack({{{1, 2, 3, 4}, {5, 6, 7, 8}}, {{9, 10, 11, 12}, {13, 14, 15, 16}}}, "batch");
  const qkv::Tensor split = apply("split_heads", {batch}, heads(2));
  CHECK(split.shape() == qkv::Shape{2, 2, 2, 2});
  CHECK(difference(rows_of(split, 1), {{3, 4}, {7, 8}}) == "");
  CHECK(difference(rows_of(split, 2), {{9, 10}, {13, 14}}) == "");
  const qkv::Tensor joined = apply("concat_heads", {split});
  CHECK(joined.values == batch.values);
  CHECK(joined.shape() == batch.shape());
}

TEST_CASE("tokens keep their labels through the heads; the cut features lose theirs") {
  const qkv::Tensor whole =
      named(labelled(matrix({{1, 2, 3, 4}, {5, 6, 7, 8}}), {"fat", "cat"}, {"a", "b", "c", "d"}),
            {"token", "d_model"});
  const qkv::Tensor split = apply("split_heads", {whole}, heads(2));
  CHECK(split.axes[1].labels == Labels{"fat", "cat"});
  CHECK(split.axes[2].labels.empty());
  const qkv::Tensor joined = apply("concat_heads", {named(split, {"head", "token", "d_v"})});
  CHECK(joined.axes[0].labels == Labels{"fat", "cat"});
  CHECK(joined.axes[1].labels.empty());
  CHECK(joined.axes[1].name == "h·d_v");
}

TEST_CASE("several matrices are joined side by side, of whatever width") {
  CHECK(difference(rows_of(apply("concat_heads", {matrix({{1}, {2}}), matrix({{3, 4}, {5, 6}})})),
                   {{1, 3, 4}, {2, 5, 6}}) == "");
}

TEST_CASE("columns that all have names keep them side by side; else none has") {
  const qkv::Tensor left = labelled(matrix({{1}, {2}}), {}, {"d_k 1"});
  const qkv::Tensor right = labelled(matrix({{3, 4}, {5, 6}}), {}, {"d_k 4", "d_k 16"});
  CHECK(apply("concat_heads", {left, right}).axes[1].labels == Labels{"d_k 1", "d_k 4", "d_k 16"});
  CHECK(apply("concat_heads", {left, matrix({{3}, {5}})}).axes[1].labels.empty());
}

TEST_CASE("heads are added cell by cell") {
  CHECK(difference(rows_of(apply("sum_heads", {stack({{{1, 2}}, {{10, 20}}, {{100, 200}}})})),
                   {{111, 222}}) == "");
}

TEST_CASE("a head that is switched off has found nothing, the others what they found") {
  const auto head = [](double number) { return OptionMap{{"head", number}}; };
  const qkv::Tensor all = stack({{{1, 2}}, {{10, 20}}, {{100, 200}}});
  CHECK(apply("switch_off", {all}, head(2)).values == std::vector<double>{1, 2, 0, 0, 100, 200});
  CHECK(refusal("switch_off", {all}, head(4)) ==
        "step: there is no head 4 in A; its heads are 1 to 3");
  CHECK(refusal("switch_off", {all}, head(0)) ==
        "step: there is no head 0 in A; its heads are 1 to 3");
  CHECK(refusal("switch_off", {matrix({{1, 2}})}, head(1)) ==
        "step: A (1×2) has no axis of heads to switch one off");
}

TEST_CASE("one head is the matrix itself") {
  const qkv::Tensor split = apply("split_heads", {matrix({{1, 2}})}, heads(1));
  CHECK(split.shape() == qkv::Shape{1, 1, 2});
  CHECK(difference(rows_of(apply("concat_heads", {split})), {{1, 2}}) == "");
  CHECK(difference(rows_of(apply("sum_heads", {split})), {{1, 2}}) == "");
}

TEST_CASE("columns that can't be shared out equally are refused") {
  const qkv::Tensor whole = matrix({{1, 2, 3, 4}});
  CHECK(refusal("split_heads", {whole}, heads(3)) ==
        "step: the 4 columns of A (1×4) can't be cut into 3 equal heads");
  CHECK(refusal("split_heads", {whole}, heads(0)) ==
        "step: the 4 columns of A (1×4) can't be cut into 0 equal heads");
  CHECK(refusal("split_heads", {whole}, heads(-2)) ==
        "step: the 4 columns of A (1×4) can't be cut into -2 equal heads");
  CHECK(refusal("split_heads", {whole}, heads(8)) ==
        "step: the 4 columns of A (1×4) can't be cut into 8 equal heads");
  CHECK(refusal("split_heads", {whole}, two_by_rows) ==
        "step: the 1 rows of A (1×4) can't be cut into 2 equal heads");
}

TEST_CASE("there must be heads to join or to add") {
  CHECK(refusal("concat_heads", {matrix({{1, 2}})}) ==
        "step: A (1×2) has no axis of heads; write of = [\"context_1\", \"context_2\"] to join "
        "several matrices");
  CHECK(refusal("sum_heads", {matrix({{1, 2}})}) ==
        "step: A (1×2) has no axis of heads to add over");
  const qkv::Tensor batch = stack({{{1}}, {{2}}}, "batch");  // two texts are not two heads
  CHECK(refusal("concat_heads", {batch}) ==
        "step: A (2×1×1) has no axis of heads; write of = [\"context_1\", \"context_2\"] to join "
        "several matrices");
  CHECK(refusal("sum_heads", {batch}) == "step: A (2×1×1) has no axis of heads to add over");
  CHECK(refusal("concat_heads", {stack({{{1}}, {{2}}})}, heads(3)) ==
        "step: heads is 3, but A has 2");
  CHECK(refusal("concat_heads", {matrix({{1}, {2}}), matrix({{3}})}) ==
        "step: A (2×1) and B (1×1) don't have the same rows to put side by side");
}

}  // namespace ops_heads_tests
