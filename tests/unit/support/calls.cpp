#include "support/calls.hpp"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "text/strings.hpp"

namespace qkv::test {

Tensor matrix(const Rows& rows) {
  std::vector<double> values;
  const std::size_t columns = rows.empty() ? 0 : rows.front().size();
  for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
  return tensor_of({rows.size(), columns}, std::move(values));
}

Tensor vector(std::vector<double> values) {
  const std::size_t size = values.size();
  return tensor_of({size}, std::move(values));
}

Tensor stack(const std::vector<Rows>& matrices, std::string_view axis) {
  Tensor result = matrix(matrices.front());
  std::vector<double> values;
  for (const Rows& rows : matrices) {
    const Tensor next = matrix(rows);
    values.insert(values.end(), next.values.begin(), next.values.end());
  }
  result.values = std::move(values);
  result.axes.insert(result.axes.begin(), Axis{.name = std::string(axis), .size = matrices.size()});
  return result;
}

Tensor named(Tensor tensor, const std::vector<std::string>& axes) {
  for (std::size_t a = 0; a < axes.size(); ++a) tensor.axes.at(a).name = axes[a];
  return tensor;
}

Tensor labelled(Tensor tensor, std::vector<std::string> rows, std::vector<std::string> columns) {
  if (tensor.rank() > 1) tensor.axes[tensor.rank() - 2].labels = std::move(rows);
  tensor.axes.back().labels = std::move(columns);
  return tensor;
}

Work::Work(std::string_view operation, std::vector<Tensor> inputs, const OptionMap& options,
           Environment environment)
    : operation_(find_operation(operation)),
      inputs_(std::move(inputs)),
      environment_(std::move(environment)) {
  if (!operation_) throw std::logic_error("no such operation in the catalogue");
  for (const auto& [name, value] : options) options_.set(name, value);
  for (std::size_t k = 0; k < inputs_.size(); ++k) {
    names_.emplace_back(1, static_cast<char>('A' + k));
  }
  call_.step = "step";
  for (const Tensor& input : inputs_) call_.inputs.push_back(&input);
  call_.names.assign(names_.begin(), names_.end());
  call_.options = &options_;
  call_.environment = &environment_;
}

Tensor apply(std::string_view operation, std::vector<Tensor> inputs, const OptionMap& options,
             Environment environment) {
  return Work(operation, std::move(inputs), options, std::move(environment)).result();
}

std::string refusal(std::string_view operation, std::vector<Tensor> inputs,
                    const OptionMap& options, Environment environment) {
  try {
    apply(operation, std::move(inputs), options, std::move(environment));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

Environment text_environment(std::string one, std::vector<std::string> vocabulary) {
  return {.texts = {std::move(one)}, .batch = false, .vocabulary = std::move(vocabulary)};
}

Environment texts(std::vector<std::string> several, std::vector<std::string> vocabulary) {
  return {.texts = std::move(several), .batch = true, .vocabulary = std::move(vocabulary)};
}

Rows rows_of(const Tensor& tensor, std::size_t index) {
  Rows rows(tensor.rows());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < tensor.columns(); ++j) rows[i].push_back(tensor.at(index, i, j));
  }
  return rows;
}

std::string difference(const Rows& got, const Rows& expected, double within) {
  if (got.size() != expected.size()) {
    return fmt::format("{} rows instead of {}", got.size(), expected.size());
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (got[i].size() != expected[i].size()) {
      return fmt::format("row {} has {} numbers instead of {}", i + 1, got[i].size(),
                         expected[i].size());
    }
    for (std::size_t j = 0; j < expected[i].size(); ++j) {
      const bool same =
          got[i][j] == expected[i][j] || std::abs(got[i][j] - expected[i][j]) <= within;
      if (!same) {
        return fmt::format("[{},{}] is {}, due {}", i + 1, j + 1, got[i][j], expected[i][j]);
      }
    }
  }
  return {};
}

}  // namespace qkv::test
