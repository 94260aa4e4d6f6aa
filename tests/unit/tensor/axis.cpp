#include "tensor/tensor.hpp"

#include <catch2/catch.hpp>

namespace tensor_axis_tests {

using namespace qkv;

TEST_CASE("copies of an axis share its labels") {
  const Axis axis{"token", 2, {"fat", "cat"}};
  const Axis copy = axis;
  CHECK(copy.labels.begin() == axis.labels.begin());
  CHECK(copy.labels == axis.labels);
}

TEST_CASE("labels are equal where each is, and none are equal to none") {
  CHECK(AxisLabels{"a", "b"} == std::vector<std::string>{"a", "b"});
  CHECK_FALSE(AxisLabels{"a", "b"} == AxisLabels{"a"});
  CHECK(AxisLabels(std::vector<std::string>{}) == AxisLabels());
  CHECK(AxisLabels().size() == 0);
  CHECK(AxisLabels().begin() == AxisLabels().end());
}

TEST_CASE(
    "each sentence of a batch has its own words; the last one's serve where there are no more") {
  const Axis axis{"token", 2, {"a", "b", "c", "d"}};
  CHECK(axis.label(1) == "b");
  CHECK(axis.label(0, 1) == "c");
  CHECK(axis.label(0, 7) == "c");
  CHECK(axis.label(2).empty());
  CHECK(Axis{"token", 2}.label(0).empty());
}

}  // namespace tensor_axis_tests
