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

/// Options for reading a file of numbers.
struct ReadOptions {
  /// The expected rows and columns, if known: see read_csv.
  std::optional<std::array<std::size_t, 2>> expected = {};
  /// Whether to read the matrix of that name; called for each, in the file's order. Empty: all.
  std::function<bool(const std::string&)> accepts = {};
  /// What to do with a cell that is not a number.
  OnBadCell on_bad_cell = OnBadCell::refused;
  /// The most matrices of the expected size that the file may hold, one below the other.
  std::size_t stacked = 1;
};

/// Receives the bytes of a file, piece by piece.
using Sink = std::function<void(std::string_view)>;

/// Writes a file's content to the sink, piece by piece.
using ContentWriter = std::function<void(const Sink&)>;

/// A named tensor to be written to a file. The tensor must outlive it.
struct NamedTensor {
  std::string name;
  const Tensor* tensor = nullptr;
};

}  // namespace qkv::inline formats
