#include "check/compare/compare.hpp"

#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

#include "text/strings.hpp"

namespace check_comparison_tests {

namespace {

using namespace qkv;

ComparedMatrix matrix(const std::string& name, const Shape& shape, std::vector<double> values,
                      Precision precision = Precision::float64) {
  return {.name = name, .tensor = tensor_of(shape, std::move(values)), .precision = precision};
}

ComparedSide dump(std::vector<ComparedMatrix> matrices) {
  ComparedSide side;
  side.name = "dump.npz";
  side.matrices = std::move(matrices);
  return side;
}

ComparedSide lesson(std::vector<ComparedMatrix> matrices) {
  ComparedSide side;
  side.name = "lesson";
  side.matrices = std::move(matrices);
  side.whole = true;
  for (const ComparedMatrix& own : side.matrices) side.order.push_back(own.name);
  return side;
}

std::vector<std::string> names_of(const Comparison& comparison) {
  std::vector<std::string> names;
  for (const ComparedStep& step : comparison.steps) names.push_back(step.name);
  return names;
}

TEST_CASE("the steps come in the lesson's order, whichever side it is, and the first counts") {
  const ComparedSide own =
      lesson({matrix("Q", {1}, {1}), matrix("K", {1}, {2}), matrix("A", {1}, {3})});
  const ComparedSide other =
      dump({matrix("A", {1}, {4}), matrix("K", {1}, {5}), matrix("Q", {1}, {1})});
  const Comparison forth = compare(other, own, {});
  CHECK(names_of(forth) == std::vector<std::string>{"Q", "K", "A"});
  CHECK(forth.first == 1);
  CHECK(names_of(compare(own, other, {})) == names_of(forth));
}

TEST_CASE("a step that differs counts before one that is undecided") {
  Comparison comparison;
  comparison.steps = {{.name = "Q", .agreement = Agreement::close},
                      {.name = "A", .agreement = Agreement::undecided},
                      {.name = "C", .agreement = Agreement::differs}};
  CHECK(first_difference(comparison, false) == 2);
  comparison.steps.pop_back();
  CHECK(first_difference(comparison, false) == 1);
}

TEST_CASE("a dump may hold any part of a lesson, and more; a whole lesson may not lack a step") {
  const ComparedSide own = lesson({matrix("Q", {1}, {1}), matrix("K", {1}, {2})});
  const ComparedSide part = dump({matrix("Q", {1}, {1}), matrix("extra", {1}, {9})});
  const Comparison comparison = compare(part, own, {});
  CHECK(comparison.same());
  CHECK(comparison.steps[1].agreement == Agreement::only_desired);
  CHECK(comparison.steps[2].agreement == Agreement::only_actual);
  const ComparedSide shorter = lesson({matrix("Q", {1}, {1})});
  CHECK(compare(shorter, own, {}).first == 1);
  CHECK(compare(own, shorter, {}).first == 1);
}

TEST_CASE("leading axes of size 1 don't count; any other difference of shape does") {
  const ComparedSide own = lesson({matrix("Q", {2, 1}, {1, 2})});
  CHECK(compare(dump({matrix("Q", {1, 1, 2, 1}, {1, 2})}), own, {}).same());
  const Comparison transposed = compare(dump({matrix("Q", {1, 2}, {1, 2})}), own, {});
  CHECK(transposed.steps[0].agreement == Agreement::other_shape);
  CHECK(transposed.first == 0);
}

// Whether each array is transposed, where A is [[1, 2], [3, 4]], B [[0, 5], [1, 2]], C 2 × 3, and H
// two heads of [[1, 2], [3, 4]] and [[5, 6], [7, 9]].
std::vector<bool> transposed_of(const std::vector<ComparedMatrix>& arrays) {
  ComparedSide own = lesson({matrix("A", {2, 2}, {1, 2, 3, 4}), matrix("B", {2, 2}, {0, 5, 1, 2}),
                             matrix("C", {2, 3}, {1, 2, 3, 4, 5, 6}),
                             matrix("H", {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 9})});
  for (ComparedMatrix& weight : own.matrices) weight.is_given = weight.is_weight = true;
  ComparedSide side = dump(arrays);
  for (ComparedMatrix& array : side.matrices) {
    array.written = array_of_values(array.tensor.shape(), array.tensor.values, Precision::float64);
  }
  match_layout(own, {}, side);
  std::vector<bool> found;
  for (const ComparedMatrix& array : side.matrices) {
    found.push_back(array.layout.find("transposed") != std::string::npos);
  }
  return found;
}

TEST_CASE("weights are transposed if most stand out × in; a lone square one is no evidence") {
  const ComparedMatrix a = matrix("A", {2, 2}, {1, 3, 2, 4});
  const ComparedMatrix b = matrix("B", {2, 2}, {0, 1, 5, 2});
  const ComparedMatrix c = matrix("C", {3, 2}, {1, 4, 2, 5, 3, 6});
  const ComparedMatrix right_b = matrix("B", {2, 2}, {0, 5, 1, 2});
  const ComparedMatrix right_c = matrix("C", {2, 3}, {1, 2, 3, 4, 5, 6});
  const ComparedMatrix unlike_b = matrix("B", {2, 2}, {1, 0, 0, 0});
  using Found = std::vector<bool>;
  CHECK(transposed_of({a}) == Found{false});
  CHECK(transposed_of({c}) == Found{true});
  CHECK(transposed_of({a, b}) == Found{true, true});
  CHECK(transposed_of({a, right_b}) == Found{false, false});
  CHECK(transposed_of({a, right_c}) == Found{false, false});
  CHECK(transposed_of({a, c}) == Found{true, true});
  CHECK(transposed_of({c, unlike_b}) == Found{true, true});
  CHECK(transposed_of({a, unlike_b}) == Found{false, false});
  // Where d_model is d_k, heads one below the other have the shape of weights out × in.
  CHECK(transposed_of({matrix("H", {4, 2}, {1, 2, 3, 4, 5, 6, 7, 9})}) == Found{false});
  CHECK(transposed_of({matrix("H", {4, 2}, {1, 3, 2, 4, 5, 7, 6, 9}), c}) == Found{true, true});
}

TEST_CASE("the tolerance suits the coarser of the two precisions, unless one is given") {
  const ComparedSide own = lesson({matrix("Q", {1}, {1})});
  const auto off_by = [&](double difference, Precision precision, ToleranceChoice choice = {}) {
    const ComparedSide other = dump({matrix("Q", {1}, {1 + difference}, precision)});
    return compare(other, own, choice).steps[0].agreement;
  };
  CHECK(off_by(0, Precision::float64) == Agreement::identical);
  CHECK(off_by(1.5e-7, Precision::float64) == Agreement::close);
  CHECK(off_by(3e-7, Precision::float64) == Agreement::differs);
  CHECK(off_by(3e-7, Precision::digits) == Agreement::differs);
  CHECK(off_by(1e-5, Precision::float32) == Agreement::close);
  CHECK(off_by(2e-5, Precision::float32) == Agreement::differs);
  CHECK(off_by(1e-3, Precision::float16) == Agreement::close);
  CHECK(off_by(2e-3, Precision::float16) == Agreement::differs);
  CHECK(off_by(1.5e-2, Precision::bfloat16) == Agreement::close);
  CHECK(off_by(2e-2, Precision::bfloat16) == Agreement::differs);
  CHECK(off_by(2e-2, Precision::float64, {.relative = {}, .absolute = 0.02}) == Agreement::close);
  CHECK(off_by(1e-3, Precision::float16, {.relative = 1e-4, .absolute = 0}) == Agreement::differs);
}

TEST_CASE(
    "a low number stands for -inf from where the lesson's operation hides cells, whatever the "
    "name") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const ComparedSide other = dump({matrix("S", {1, 2}, {1, -20000})});
  ComparedSide own = lesson({matrix("S", {1, 2}, {1, -inf})});
  own.is_lesson = true;
  CHECK_FALSE(compare(other, own, {}).same());
  own.matrices[0].masks_cells = true;
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

TEST_CASE("scores are not masked in place where masked ones stand beside them: they overflowed") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const auto with = [](double lowest, const std::string& other) {
    return dump({matrix("h0.scores", {1, 2}, {1, lowest}), matrix(other, {1, 2}, {1, -inf})});
  };
  CHECK(compare(with(-65504, "h0.bias"), with(-inf, "h0.bias"), {}).same());
  const auto beside = compare(with(-65504, "h0.masked_scores"), with(-inf, "h0.masked_scores"), {});
  CHECK(beside.steps[0].agreement == Agreement::differs);
  CHECK(beside.steps[1].agreement == Agreement::identical);
}

TEST_CASE("a dump with nothing of the lesson in it is refused") {
  const ComparedSide own = lesson({matrix("Q", {1}, {1})});
  const ComparedSide stranger = dump({matrix("arr_0", {1}, {1})});
  CHECK_THROWS_WITH(compare(stranger, own, {}),
                    "dump.npz and lesson have no step in common, so there is nothing to compare; "
                    "the first has arr_0, the second Q: name arrays and files after the lesson's "
                    "steps");
}

}  // namespace

}  // namespace check_comparison_tests
