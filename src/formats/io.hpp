#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "formats/handwork/numeral.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline formats {

/// What is wanted of a file of numbers.
struct ReadOptions {
  /// The rows and columns that the file is to have, where that is known: see read_csv.
  std::optional<std::array<std::size_t, 2>> expected = {};
  /// Whether the matrix of that name is to be read; asked for each name in the file, in its order.
  /// Empty: all are.
  std::function<bool(const std::string&)> accepts = {};
  /// What is done with a cell that is no number.
  OnBadCell on_bad_cell = OnBadCell::refused;
  /// So many matrices of the expected size may stand in the file, one below the other.
  std::size_t stacked = 1;
};

/// Takes the bytes of a file, piece after piece.
using Sink = std::function<void(std::string_view)>;

/// What goes into a file: hands it to the sink, piece after piece.
using ContentWriter = std::function<void(const Sink&)>;

/// A tensor on its way into a file that names what it holds. The tensor must outlive it.
struct NamedTensor {
  std::string name;
  const Tensor* tensor = nullptr;
};

}  // namespace qkv::inline formats
