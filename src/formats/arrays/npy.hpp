#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/format.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline formats {

/// A NumPy array: its values and their precision. Integers and booleans count as exact digits.
struct NpyArray {
  Tensor tensor;  ///< unnamed axes; an array of rank 0 has one axis of size 1
  Precision precision = Precision::float64;
};

/// Reads a .npy file, versions 1 to 3, of any rank: floats of 2, 4 and 8 bytes, integers and bool,
/// in either byte order, in C or Fortran order. Throws InputError (prefix `where`) for any other
/// dtype, an invalid header, and a file too short or too long.
NpyArray read_npy_array(std::string_view bytes, const std::string& where);

/// The same as a submitted array: decimals are 0. Of more than `most` numbers, only the shape.
ParsedArray read_npy(std::string_view bytes, const std::string& where, std::size_t most = SIZE_MAX);

/// Returns the shape alone if a file of `size` bytes with this beginning has more than `most`
/// numbers. `max_npy_header` bytes of it are enough. Throws InputError as above.
std::optional<ParsedArray> npy_surplus(std::string_view beginning, std::size_t size,
                                       const std::string& where, std::size_t most);
inline constexpr std::size_t max_npy_header = std::size_t{1} << 17;

/// Returns the header of a .npy file, version 1.0, <f8 in C order.
std::string npy_header(const Shape& shape);

/// Returns a .npy file, version 1.0, <f8 in C order. Example: `to_npy(tensor_of({1}, {2.0}))`.
std::string to_npy(const Tensor& tensor);

}  // namespace qkv::inline formats
