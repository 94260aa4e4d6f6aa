#pragma once

#include "formats/arrays/dtype.hpp"

namespace qkv::inline formats {

/// Reads a .npy file, versions 1 to 3, of any rank: floats of 2, 4 and 8 bytes, integers and bool,
/// in either byte order, in C or Fortran order. Integers and booleans count as exact digits. An
/// array of rank 0 gets one axis of size 1. Of more than `most` numbers only the shape; of none,
/// too, if `most` is given. Throws InputError (prefix `where`) for any other dtype, an invalid
/// header, and a file too short or too long.
ParsedArray read_npy(std::string_view bytes, const std::string& where, std::size_t most = SIZE_MAX);

/// Returns the shape alone if a file of `size` bytes with this beginning has more than `most`
/// numbers. `max_npy_header` bytes of it are enough. Throws InputError as above.
std::optional<ParsedArray> npy_surplus(std::string_view beginning, std::size_t size,
                                       const std::string& where, std::size_t most);
inline constexpr std::size_t max_npy_header = std::size_t{1} << 17;

/// Returns the header of a .npy file, version 1.0, <f8 in C order.
std::string npy_header(const Shape& shape);

/// Reads a .npz file: a zip archive of .npy files, stored or deflated, as numpy.savez and
/// numpy.savez_compressed write it. Returns its arrays by name, in the archive's order. Throws
/// InputError (prefix `where`) for a wrong size or checksum, entries that overlap, and too many
/// unpacked bytes. Arrays that are not wanted stay packed, and so do the numbers of those that are
/// too large.
std::vector<NamedArray> read_npz(std::string_view bytes, const std::string& where,
                                 const ReadOptions& wanted = {});

/// Writes tensors as numpy.savez does: stored .npy files, <f8, named after the tensors. All are
/// dated 1980, so that the same tensors give the same bytes. Throws InputError above 4 GB.
void write_npz(const std::vector<NamedTensor>& tensors, const Sink& sink);

/// Wording for error messages: the archive's kind, and how to create a valid one.
struct ZipMessages {
  std::string_view kind;     ///< ".npz file"
  std::string_view make;     ///< "save the arrays with numpy.savez"
  std::string_view again;    ///< "save the arrays again with numpy.savez"
  std::string_view plainly;  ///< how to create one without an unusual compression method
};

enum class ZipMethod { stored = 0, deflated = 8 };

/// One file in an archive, not yet unpacked.
struct ZipEntry {
  std::string name;
  ZipMethod method = ZipMethod::stored;
  std::size_t checksum = 0;
  std::size_t packed = 0;
  std::size_t unpacked = 0;
  std::size_t header = 0;  ///< offset of its local header
  std::string_view data = {};
};

/// Returns the files of a zip archive, in its order; they refer to `bytes`. Throws InputError
/// (prefix `where`) for a wrong size, and for entries that overlap.
std::vector<ZipEntry> zip_entries(std::string_view bytes, const std::string& where,
                                  const ZipMessages& words);

/// Returns the entry's unpacked bytes. Throws InputError if the checksum is wrong.
std::string unpacked(const ZipEntry& entry, const std::string& where, const ZipMessages& words);

/// Returns the matrices in a JSON text. Nested arrays of numbers of any rank are one matrix without
/// a name; an object of them, {"Q": [[1, 2]], "K": …}, is one for each name. Names of nested
/// objects are joined with a dot ({"h0": {"Q": …}} is h0.Q), except for wrappers such as {"steps":
/// …}. Lists of entries are read, too: [{"step": "Q", "values": …}]. Decimals stay as written.
/// null and "" are blank; infinities are "inf", "-inf" or Python's spelling. Throws InputError
/// (prefix `where`): invalid JSON (with line and column), rows that differ in length, a repeated
/// name, arrays nested too deep, more numbers than are wanted.
std::vector<NamedArray> read_json(std::string_view text, const std::string& where,
                                  const ReadOptions& wanted = {});

/// Writes an object with one nested list per tensor; names are letters, digits, _ and dots. Numbers
/// have `digits` decimals, or the shortest digits that read back to the same double. Infinities and
/// NaN are the strings "inf", "-inf" and "nan".
void write_json(const std::vector<NamedTensor>& tensors, std::optional<int> digits,
                const Sink& sink);

/// Reads a file of torch.save: a zip with a pickle and the tensors' numbers. It runs no code: the
/// pickle may hold tensors, parameters, dictionaries, lists, texts and numbers, and nothing else.
/// Returns the tensors, named by their keys ("model.h.0.weight", counted from 0 in lists), without
/// a name if the file is one tensor. Throws InputError (prefix `where`) for anything else, which
/// the message names. Source: PyTorch's torch/serialization.py; Python's pickletools.py.
std::vector<NamedArray> read_pytorch(std::string_view bytes, const std::string& where,
                                     const ReadOptions& wanted);

/// One tensor of a .safetensors file: its header entry and its bytes.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;               ///< as the header spells it: "F32"; qkv may not know it
  Shape shape;                     ///< empty for a single number
  std::size_t begin = 0, end = 0;  ///< of its bytes among all numbers
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
