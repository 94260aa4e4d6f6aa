#include "verdicts/compared_parts.hpp"

#include <algorithm>

#include "trace/reference.hpp"

namespace qkv {
namespace {

constexpr SamenessWords words[] = {
    {Sameness::identical, "identical", "identical"},
    {Sameness::close, "close", "within tolerance"},
    {Sameness::follows, "carried", "carried on"},
    {Sameness::differs, "differs", "DIFFERS"},
    {Sameness::other_shape, "shape", "OTHER SHAPE"},
    {Sameness::only_actual, "only_actual", "only in ACTUAL"},
    {Sameness::only_desired, "only_desired", "only in DESIRED"},
};

}  // namespace

const SamenessWords& words_of(Sameness sameness) {
  return *std::find_if(std::begin(words), std::end(words),
                       [&](const SamenessWords& one) { return one.sameness == sameness; });
}

bool has_numbers(const ComparedStep& step) { return step.difference.elements > 0; }

bool is_spare_given(const ComparedStep& step) {
  const SideMatrix* alone = step.actual == nullptr ? step.desired : step.actual;
  return !has_numbers(step) && step.sameness != Sameness::other_shape && alone->is_given;
}

const Tensor& telling_tensor(const ComparedStep& step) {
  const Tensor& actual = step.actual->tensor;
  const Tensor& desired = step.desired->tensor;
  const auto is_named = [](const Tensor& tensor) {
    return std::any_of(tensor.axes.begin(), tensor.axes.end(),
                       [](const Axis& axis) { return !axis.name.empty() || !axis.labels.empty(); });
  };
  if (is_named(actual) != is_named(desired)) return is_named(actual) ? actual : desired;
  return actual.rank() < desired.rank() ? actual : desired;
}

std::string cell_name(const ComparedStep& step, std::size_t place) {
  const Tensor& tensor = telling_tensor(step);
  const std::size_t matrix_size = tensor.rows() * tensor.columns();
  const std::size_t within = place % matrix_size;
  return reference_text({.name = step.name,
                         .matrix = place / matrix_size,
                         .row = within / tensor.columns(),
                         .column = within % tensor.columns()},
                        tensor, Convention::rows);
}

std::vector<std::size_t> index_of(const Tensor& tensor, std::size_t place) {
  std::vector<std::size_t> index(tensor.rank());
  for (std::size_t a = index.size(); a-- > 0;) {
    index[a] = place % tensor.axes[a].size;
    place /= tensor.axes[a].size;
  }
  return index;
}

Coverage coverage_of(const Comparison& comparison, const Side& actual) {
  Coverage coverage;
  const bool ours_is_actual = actual.is_lesson;
  for (const ComparedStep& step : comparison.steps) {
    if (!is_missing(step.sameness)) {
      ++coverage.compared;
    } else if ((step.sameness == Sameness::only_actual) == ours_is_actual) {
      if (!is_spare_given(step)) coverage.missing.push_back(step.name);
    } else {
      coverage.unknown.push_back(step.name);
    }
  }
  return coverage;
}

}  // namespace qkv
