#include "check/compare/compare.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

#include "text/error.hpp"

namespace {

using namespace qkv;

SideMatrix matrix(const std::string& name, const Shape& shape, std::vector<double> values,
                  Precision precision = Precision::float64) {
  return {.name = name, .tensor = tensor_of(shape, std::move(values)), .precision = precision};
}

Side dump(std::vector<SideMatrix> matrices) {
  Side side;
  side.name = "dump.npz";
  side.matrices = std::move(matrices);
  return side;
}

Side lesson(std::vector<SideMatrix> matrices) {
  Side side;
  side.name = "lesson";
  side.matrices = std::move(matrices);
  side.whole = true;
  for (const SideMatrix& own : side.matrices) side.order.push_back(own.name);
  return side;
}

std::vector<std::string> names_of(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const ComparedStep& step : comparison.steps) names.push_back(step.name);
  return names;
}

TEST_CASE("the steps come in the lesson's order, whichever side it is, and the first counts") {
  const Side own = lesson({matrix("Q", {1}, {1}), matrix("K", {1}, {2}), matrix("A", {1}, {3})});
  const Side other = dump({matrix("A", {1}, {4}), matrix("K", {1}, {5}), matrix("Q", {1}, {1})});
  const Comparison forth = compare(other, own, {});
  CHECK(names_of(forth) == std::vector<std::string>{"Q", "K", "A"});
  CHECK(forth.first == 1);
  CHECK(names_of(compare(own, other, {})) == names_of(forth));
}

TEST_CASE("a dump may hold any part of a lesson, and more; a whole lesson may not lack a step") {
  const Side own = lesson({matrix("Q", {1}, {1}), matrix("K", {1}, {2})});
  const Side part = dump({matrix("Q", {1}, {1}), matrix("extra", {1}, {9})});
  const Comparison comparison = compare(part, own, {});
  CHECK(comparison.same());
  CHECK(comparison.steps[1].sameness == Sameness::only_desired);
  CHECK(comparison.steps[2].sameness == Sameness::only_actual);
  const Side shorter = lesson({matrix("Q", {1}, {1})});
  CHECK(compare(shorter, own, {}).first == 1);
  CHECK(compare(own, shorter, {}).first == 1);
}

TEST_CASE("leading axes of size 1 don't count; any other difference of shape does") {
  const Side own = lesson({matrix("Q", {2, 1}, {1, 2})});
  CHECK(compare(dump({matrix("Q", {1, 1, 2, 1}, {1, 2})}), own, {}).same());
  const Comparison turned = compare(dump({matrix("Q", {1, 2}, {1, 2})}), own, {});
  CHECK(turned.steps[0].sameness == Sameness::other_shape);
  CHECK(turned.first == 0);
}

TEST_CASE("the tolerance suits the coarser of the two precisions, unless one is given") {
  const Side own = lesson({matrix("Q", {1}, {1})});
  const auto off_by = [&](double difference, Precision precision, ToleranceChoice choice = {}) {
    const Side other = dump({matrix("Q", {1}, {1 + difference}, precision)});
    return compare(other, own, choice).steps[0].sameness;
  };
  CHECK(off_by(0, Precision::float64) == Sameness::identical);
  CHECK(off_by(1.5e-7, Precision::float64) == Sameness::close);
  CHECK(off_by(3e-7, Precision::float64) == Sameness::differs);
  CHECK(off_by(3e-7, Precision::digits) == Sameness::differs);
  CHECK(off_by(1e-5, Precision::float32) == Sameness::close);
  CHECK(off_by(2e-5, Precision::float32) == Sameness::differs);
  CHECK(off_by(1e-3, Precision::float16) == Sameness::close);
  CHECK(off_by(2e-3, Precision::float16) == Sameness::differs);
  CHECK(off_by(1.5e-2, Precision::bfloat16) == Sameness::close);
  CHECK(off_by(2e-2, Precision::bfloat16) == Sameness::differs);
  CHECK(off_by(2e-2, Precision::float64, {.relative = {}, .absolute = 0.02}) == Sameness::close);
  CHECK(off_by(1e-3, Precision::float16, {.relative = 1e-4, .absolute = 0}) == Sameness::differs);
}

TEST_CASE(
    "a low number stands for -inf from where the lesson's operation hides cells, whatever the "
    "name") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const Side other = dump({matrix("S", {1, 2}, {1, -20000})});
  Side own = lesson({matrix("S", {1, 2}, {1, -inf})});
  own.is_lesson = true;
  CHECK_FALSE(compare(other, own, {}).same());
  own.matrices[0].hides = true;
  CHECK(compare(other, own, {}).same());
  CHECK(compare(other, own, {}).steps[0].finite_masks == 1);
}

TEST_CASE("of two dumps the name tells which step hides cells") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const auto with = [](const std::string& name, double hidden) {
    return dump({matrix(name, {1, 2}, {1, hidden})});
  };
  CHECK_FALSE(compare(with("S", -20000), with("S", -inf), {}).same());
  CHECK(compare(with("S_masked", -20000), with("S_masked", -inf), {}).same());
}

TEST_CASE("a dump with nothing of the lesson in it is refused") {
  const Side own = lesson({matrix("Q", {1}, {1})});
  const Side stranger = dump({matrix("arr_0", {1}, {1})});
  CHECK_THROWS_WITH(compare(stranger, own, {}),
                    "dump.npz and lesson have no step in common, so there is nothing to compare; "
                    "the first has arr_0, the second Q: name arrays and files after the lesson's "
                    "steps");
}

}  // namespace
