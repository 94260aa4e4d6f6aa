#pragma once

#include "formats/arrays/arrays.hpp"
#include "formats/arrays/dtype.hpp"

namespace qkv::inline formats {

/// Returns a .npy file, version 1.0, <f8 in C order.
inline std::string to_npy(const Tensor& tensor) {
  return npy_header(tensor.shape()).append(bytes_of(tensor.values));
}

}  // namespace qkv::inline formats
