#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/arrays/dtype.hpp"
#include "formats/io.hpp"
#include "formats/parsed_array.hpp"
#include "tensor/tensor.hpp"

namespace qkv::inline formats {

/// One tensor of a .safetensors file: what the header says of it, and its bytes.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;  ///< as the header spells it: "F32"; qkv may not know it
  Shape shape;        ///< empty for a single number
  std::string_view data;
};

/// A .safetensors file taken apart; nothing of its numbers has been read yet.
struct SafetensorsIndex {
  std::vector<SafetensorsEntry> tensors;  ///< in the header's order
  std::map<std::string, std::string> metadata;
};

/// The file begins with so many bytes that say how long the header is.
inline constexpr std::size_t safetensors_length_size = 8;

/// The header's entry that is no tensor.
inline constexpr std::string_view safetensors_metadata_key = "__metadata__";

/// The most bytes that a header may have, as in the format's own reader.
inline constexpr std::size_t max_safetensors_header_bytes = 100'000'000;

/// Takes the bytes of a .safetensors file apart: 8 bytes with the header's length, the header in
/// JSON, the numbers. Checks the header against the bytes: every size fits its shape and dtype, no
/// tensor lies outside the file or in another, and no byte belongs to none. `where` opens every
/// message; the entries point into `bytes`. Throws InputError.
SafetensorsIndex safetensors_index(std::string_view bytes, const std::string& where);

/// One tensor's numbers, a single number as one axis of size 1. Throws InputError for a dtype that
/// is neither a float of 16 to 64 bits, nor an integer, nor bool, and for a tensor without numbers.
ParsedArray read_safetensor(const SafetensorsEntry& entry, const std::string& where);

/// What the tensor's bytes hold. Throws InputError as above.
const Dtype& safetensor_dtype(const SafetensorsEntry& entry, const std::string& where);

/// The tensors of a .safetensors file whose names `accepts` wants; it is asked for each. Throws
/// InputError as above.
std::vector<NamedArray> read_safetensors(std::string_view bytes, const std::string& where,
                                         const std::function<bool(const std::string&)>& accepts);

/// Writes tensors as F64 to `sink`, in the order of their names, with `metadata` in the header,
/// which is padded so that the numbers begin at a multiple of 8 bytes.
void write_safetensors(const std::vector<NamedTensor>& tensors,
                       const std::map<std::string, std::string>& metadata, const Sink& sink);

}  // namespace qkv::inline formats
