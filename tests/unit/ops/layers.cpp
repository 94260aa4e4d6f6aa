// layer_norm, gelu, relu and project beside PyTorch 1.13.1 in float64: torch.nn.functional's
// layer_norm, gelu, gelu(approximate="tanh") and linear.

#include <catch2/catch.hpp>
#include <limits>
#include <string>

#include "support/calls.hpp"

namespace ops_layers_tests {

using namespace qkv::test;

namespace {
constexpr double inf = std::numeric_limits<double>::infinity();
const OptionMap out_in = {{"layout", std::string("out-in")}};
}  // namespace

TEST_CASE("layer_norm gives PyTorch's rows") {
  CHECK(difference(rows_of(apply("layer_norm", {matrix({{1, 2, 4}, {0, -1, 3}}),
                                                vector({1, 0.5, -2}), vector({0, 1, 0.25})})),
                   {{-1.069041531450298, 0.8663698085687127, -2.4226038286257436},
                    {-0.3922315914145858, 0.5097105107317678, -2.4956211399021}},
                   1e-14) == "");
}

TEST_CASE("layer_norm takes another eps, and gain and bias as matrices of one row") {
  CHECK(difference(rows_of(apply("layer_norm",
                                 {matrix({{1, 2, 4}, {0, -1, 3}}), matrix({{1, 0.5, -2}}),
                                  matrix({{0, 1, 0.25}})},
                                 {{"eps", 0.1}})),
                   {{-1.0362555203016797, 0.87046805996229, -2.3406388007541987},
                    {-0.38561494363984955, 0.5179813204501881, -2.4493046054789462}},
                   1e-14) == "");
}

TEST_CASE("layer_norm makes the bias of a row of equal numbers") {
  CHECK(difference(rows_of(apply("layer_norm", {matrix({{2, 2, 2}}), vector({1, 0.5, -2}),
                                                vector({0, 1, 0.25})})),
                   {{0, 1, 0.25}}) == "");
  CHECK(apply("layer_norm", {matrix({}), vector({}), vector({})}).shape() == qkv::Shape{0, 0});
}

TEST_CASE("a gain is one row, not a matrix") {
  CHECK(
      refusal("layer_norm", {matrix({{1, 2}, {3, 4}}), matrix({{1, 1}, {1, 1}}), vector({0, 0})}) ==
      "step: B (2×2) must be a vector or a matrix of one row");
}

TEST_CASE("gelu gives PyTorch's numbers in both forms") {
  const Rows x = {{-3, -1, -0.75, 0, 0.5, 1, 3}};
  CHECK(difference(rows_of(apply("gelu", {matrix(x)}, {{"form", std::string("erf")}})),
                   {{-0.00404969409489031, -0.15865525393145702, -0.16997051428265111, 0,
                     0.34573123063700656, 0.841344746068543, 2.99595030590511}},
                   1e-15) == "");
  const Rows tanh = {{-0.0036373920817729943, -0.15880800939172324, -0.17003944483437966, 0,
                      0.34571400982514394, 0.8411919906082768, 2.996362607918227}};
  CHECK(difference(rows_of(apply("gelu", {matrix(x)}, {{"form", std::string("tanh")}})), tanh,
                   1e-15) == "");
  CHECK(difference(rows_of(apply("gelu", {matrix(x)})), tanh, 1e-15) == "");
}

TEST_CASE("gelu of huge numbers is the number itself or 0") {
  CHECK(difference(rows_of(apply("gelu", {matrix({{-1e200, 1e200, inf}})})), {{0, 1e200, inf}}) ==
        "");
}

TEST_CASE("relu keeps what is positive") {
  CHECK(difference(rows_of(apply("relu", {matrix({{-2, 0, 3, -inf, inf}})})),
                   {{0, 0, 3, 0, inf}}) == "");
}

TEST_CASE("project multiplies by the weight as it is stored") {
  const Rows x = {{1, 2, 3}, {-1, 0.25, 4}};
  const Rows w = {{1, 0, -1}, {2, 0.5, 3}};  // out × in, as nn.Linear stores it
  const qkv::Tensor expected = apply("project", {matrix(x), matrix(w), vector({0.5, -1})}, out_in);
  CHECK(difference(rows_of(expected), {{-1.5, 11}, {-4.5, 9.125}}) == "");
  CHECK(difference(rows_of(apply("project", {matrix(x), matrix({{1, 2}, {0, 0.5}, {-1, 3}}),
                                             matrix({{0.5, -1}})})),
                   {{-1.5, 11}, {-4.5, 9.125}}) == "");
  CHECK(difference(rows_of(apply("project", {matrix(x), matrix(w)}, out_in)),
                   {{-2, 12}, {-5, 10.125}}) == "");
}

TEST_CASE("a weight with heads gives every head a matrix, from one X") {
  const qkv::Tensor heads = apply("project", {matrix({{1, 2}}), stack({{{1}, {0}}, {{0}, {1}}})});
  CHECK(heads.shape() == qkv::Shape{2, 1, 1});
  CHECK(heads.values == std::vector<double>{1, 2});
}

TEST_CASE("no tokens project to no rows, no features to zeros or to the bias") {
  CHECK(apply("project", {qkv::zeros({{"", 0}, {"", 2}}), matrix({{1}, {2}})}).shape() ==
        qkv::Shape{0, 1});
  CHECK(difference(rows_of(apply("project", {qkv::zeros({{"", 2}, {"", 0}}),
                                             qkv::zeros({{"", 0}, {"", 1}}), vector({7})})),
                   {{7}, {7}}) == "");
}

TEST_CASE("a weight the wrong way round is refused with both sizes") {
  CHECK(refusal("project", {matrix({{1, 2, 3}}), matrix({{1, 0, -1}, {2, 0.5, 3}})}) ==
        "step: inner is 3 in A (1×3) but 2 in B (2×3)");
  const qkv::Tensor x = named(matrix({{1, 2, 3}}), {"token", "d_model"});
  CHECK(refusal("project", {x, matrix({{1, 0, -1}, {2, 0.5, 3}})}) ==
        "step: d_model is 3 in A (1×3) but 2 in B (2×3)");
  CHECK(refusal("project", {matrix({{1}}), matrix({{1, 2}}), vector({1, 2, 3})}) ==
        "step: column is 2 in B (1×2) but 3 in C (3)");
}

TEST_CASE("one token and none go through a whole head") {
  const qkv::Tensor one = matrix({{2, -1}});
  const qkv::Tensor weights = apply("softmax", {apply("scale", {apply("score", {one, one})})});
  CHECK(difference(rows_of(apply("weighted_sum", {weights, one})), {{2, -1}}) == "");
  const qkv::Tensor none = qkv::zeros({{"token", 0}, {"d_k", 2}});
  const qkv::Tensor nothing = apply("softmax", {apply("scale", {apply("score", {none, none})})});
  CHECK(apply("weighted_sum", {nothing, none}).shape() == qkv::Shape{0, 2});
}

}  // namespace ops_layers_tests
