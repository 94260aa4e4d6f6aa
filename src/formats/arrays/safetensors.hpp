#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/arrays/dtype.hpp"
#include "formats/format.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline formats {

/// One tensor of a .safetensors file: its header entry and its bytes.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;  ///< as the header spells it: "F32"; qkv may not know it
  Shape shape;        ///< empty for a single number
  std::string_view data = {};
};

/// The parsed header of a .safetensors file; no numbers have been read yet.
struct SafetensorsIndex {
  std::vector<SafetensorsEntry> tensors;  ///< in the header's order
  std::map<std::string, std::string> metadata;
};

/// Parses a .safetensors file: 8 bytes with the header's length, the header in JSON, the numbers.
/// Checks that every size fits its shape and dtype, no tensor lies outside the file, none overlaps
/// another, and every byte belongs to one. The entries refer to `bytes`. Throws InputError (prefix
/// `where`).
SafetensorsIndex safetensors_index(std::string_view bytes, const std::string& where);

/// Returns the tensor's dtype. Throws InputError for a tensor without numbers, or a dtype other
/// than floats of 16 to 64 bits, integers and bool.
const Dtype& safetensor_dtype(const SafetensorsEntry& entry, const std::string& where);

/// Reads the wanted tensors; a single number gets one axis of size 1. Of too many numbers, only the
/// shape. Throws InputError as above.
std::vector<NamedArray> read_safetensors(std::string_view bytes, const std::string& where,
                                         const ReadOptions& wanted = {});

/// Writes tensors as F64, sorted by name; the numbers begin at a multiple of 8 bytes.
void write_safetensors(const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata, const Sink& sink);

}  // namespace qkv::inline formats
