#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "formats/format.hpp"

namespace qkv::inline formats {

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

}  // namespace qkv::inline formats
