#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "target.hpp"

namespace qkv::fuzz {

void law(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "a law is broken: %s\n", what);
  std::abort();
}

void sound(const ParsedArray& written) {
  std::size_t count = 1;
  for (const std::size_t size : written.shape) count *= size;
  law(!written.shape.empty(), "a shape has an axis");
  law(count > 0, "there are numbers");
  law(count == written.cells.size(), "as many numbers as the shape says");
  const auto labels_fit = [&](const std::vector<std::string>& labels, std::size_t axis) {
    return labels.empty() || (written.shape.size() == 2 && labels.size() == written.shape[axis]);
  };
  law(labels_fit(written.row_labels, 0), "a label for each row");
  law(labels_fit(written.column_labels, 1), "a label for each column");
}

std::vector<double> numbers_of(const ParsedArray& written) {
  std::vector<double> numbers;
  numbers.reserve(written.cells.size());
  for (const Numeral& cell : written.cells) numbers.push_back(cell.value);
  return numbers;
}

Tensor tensor_of_numbers(const ParsedArray& written) {
  return tensor_of(written.shape, numbers_of(written));
}

bool same(const ParsedArray& one, const ParsedArray& other) {
  const auto same_number = [](const Numeral& a, const Numeral& b) {
    return a.value == b.value || (std::isnan(a.value) && std::isnan(b.value));
  };
  return one.shape == other.shape && std::ranges::equal(one.cells, other.cells, same_number);
}

std::vector<std::string_view> parts(std::string_view bytes, std::size_t count) {
  std::vector<std::string_view> result;
  while (result.size() + 1 < count) {
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    result.push_back(bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  result.push_back(bytes);
  return result;
}

}  // namespace qkv::fuzz
