#pragma once

#include <string>
#include <string_view>

#include "formats/parsed_array.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline formats {

/// A NumPy array: its values, and how precise the numbers in the file are. Whole numbers and truth
/// values count as digits that were written out, since they are exact.
struct NpyArray {
  Tensor tensor;  ///< unnamed axes; an array of rank 0 has one axis of size 1
  Precision precision = Precision::float64;
};

/// The array in the bytes of a .npy file, versions 1 to 3: floats of 2, 4 and 8 bytes, integers and
/// bool, in either byte order, in C or Fortran order, of any rank. `where` opens every message.
/// Throws InputError for any other dtype, a broken header, and a file too short or too long.
NpyArray read_npy_array(std::string_view bytes, const std::string& where);

/// The same as numbers that were handed in: NaN is blank, decimals are 0.
ParsedArray read_npy(std::string_view bytes, const std::string& where);

/// What stands before the numbers of a .npy file, version 1.0, <f8 in C order.
std::string npy_header(const Shape& shape);

/// The bytes of a .npy file, version 1.0, <f8 in C order. Example: `to_npy(tensor_of({1}, {2.0}))`.
std::string to_npy(const Tensor& tensor);

}  // namespace qkv::inline formats
