#include "trace/labels.hpp"

#include <fmt/format.h>

namespace qkv {
namespace {

std::vector<std::string> labels_of(const Axis& axis, std::size_t batch) {
  std::vector<std::string> labels;
  if (axis.labels.empty()) return labels;
  for (std::size_t i = 0; i < axis.size; ++i) labels.emplace_back(axis.label(i, batch));
  return labels;
}

void fill(std::vector<std::string>& labels, std::size_t count) {
  labels.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (labels[i].empty()) labels[i] = std::to_string(i + 1);
  }
}

std::string name_of_sentence(std::size_t row) { return fmt::format("batch {}", row + 1); }

}  // namespace

bool words_differ_by_row(const Tensor& tensor) {
  return tensor.leading_axes() == 0 && tensor.axes.back().labels.size() > tensor.columns();
}

MatrixLabels labels_of_sentence(const Tensor& ids, std::size_t row) {
  MatrixLabels labels{{name_of_sentence(row)}, {}};
  for (std::size_t i = 0; i < ids.columns(); ++i) {
    labels.columns.emplace_back(ids.axes.back().label(i, row));
  }
  return labels;
}

MatrixLabels own_labels(const Tensor& tensor, std::size_t index, Convention convention) {
  const std::vector<std::size_t> leading = leading_index(tensor, index);
  const std::size_t batch = leading.empty() ? 0 : leading.front();
  MatrixLabels labels{labels_of(tensor.row_axis(), batch), {}};
  if (!words_differ_by_row(tensor)) labels.columns = labels_of(tensor.axes.back(), batch);
  if (is_turned(tensor, convention)) std::swap(labels.rows, labels.columns);
  return labels;
}

MatrixLabels full_labels(const Tensor& tensor, std::size_t index, Convention convention) {
  MatrixLabels labels = own_labels(tensor, index, convention);
  if (words_differ_by_row(tensor)) {
    for (std::size_t row = 0; row < tensor.rows(); ++row) {
      labels.rows.push_back(name_of_sentence(row));
    }
  }
  const bool turned = is_turned(tensor, convention);
  fill(turned ? labels.columns : labels.rows, tensor.rows());
  fill(turned ? labels.rows : labels.columns, tensor.columns());
  return labels;
}

std::optional<std::size_t> head_of(const Tensor& tensor, std::size_t index) {
  const std::vector<std::size_t> leading = leading_index(tensor, index);
  for (std::size_t a = 0; a < leading.size(); ++a) {
    if (tensor.axes[a].name == "head") return leading[a];
  }
  return {};
}

std::string matrix_name(const Tensor& tensor, std::size_t index) {
  std::string name;
  const std::vector<std::size_t> leading = leading_index(tensor, index);
  for (std::size_t a = 0; a < leading.size(); ++a) {
    const std::string& axis = tensor.axes[a].name;
    name +=
        fmt::format("{}{} {}", a == 0 ? "" : ", ", axis.empty() ? "head" : axis, leading[a] + 1);
  }
  return name;
}

}  // namespace qkv
