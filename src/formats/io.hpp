#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "formats/handwork/numeral.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline formats {

/// Returns the most numbers that are read of the matrix of that name; of the file's only one, if it
/// is empty.
using NumberLimit = std::function<std::size_t(const std::string& name)>;

/// A matrix of a lesson may have so many times its numbers, and is then a matrix of the wrong
/// shape. A larger one is not read: it would cost more than any verdict on it tells.
inline constexpr std::size_t surplus_factor = 16;

/// The most bytes that the unpacked files of one archive may have.
inline constexpr std::size_t max_unpacked_bytes = std::size_t{1} << 30;

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
  /// Empty: any number. Of a larger matrix, a binary file gives the shape and no cells; any other
  /// file is refused once more numbers were found.
  NumberLimit most = {};
  /// Whether arrays may come as a PrintedPart.
  bool parts = false;
  /// The most bytes that the unpacked arrays of a .npz file may have.
  std::size_t most_bytes = max_unpacked_bytes;

  bool wants(const std::string& name) const { return !accepts || accepts(name); }
  std::size_t most_of(const std::string& name) const { return most ? most(name) : SIZE_MAX; }
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
