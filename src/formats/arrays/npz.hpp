#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "formats/io.hpp"
#include "formats/parsed_array.hpp"

namespace qkv::inline formats {

/// The most bytes that the arrays of one .npz file may have when they are unpacked.
inline constexpr std::size_t max_unpacked_bytes = std::size_t{1} << 30;

/// The arrays in a .npz file, in its own order, each by its name: a zip archive of .npy files,
/// stored or deflated, as numpy.savez and numpy.savez_compressed write it. Every size and checksum
/// in the archive must be right, no entry may lie in another, and together the arrays may not have
/// more than `limit` bytes. `where` opens every message. Throws InputError.
std::vector<NamedArray> read_npz(std::string_view bytes, const std::string& where,
                                 std::size_t limit = max_unpacked_bytes);

/// Writes tensors as numpy.savez does: an archive of .npy files, <f8, each stored under its
/// tensor's name, dated 1980 so that the same tensors make the same bytes. Throws InputError where
/// they take more than 4 GB.
void write_npz(const std::vector<NamedTensor>& tensors, const Sink& sink);

/// How messages speak of an archive, and of how to make a good one.
struct ZipMessages {
  std::string_view kind;     ///< ".npz file"
  std::string_view make;     ///< "save the arrays with numpy.savez"
  std::string_view again;    ///< "save the arrays again with numpy.savez"
  std::string_view plainly;  ///< how to make one without a rare kind of packing
};

enum class ZipMethod { stored = 0, deflated = 8 };

/// One file in an archive, still packed.
struct ZipEntry {
  std::string name;
  ZipMethod method = ZipMethod::stored;
  std::size_t checksum = 0;
  std::size_t packed = 0;
  std::size_t unpacked = 0;
  std::size_t header = 0;  ///< where its local header begins
  std::string_view data = {};
};

/// The files of a zip archive, in its own order; they point into `bytes`. Every size in the archive
/// must be right, and no entry may lie in another. `where` opens every message. Throws InputError.
std::vector<ZipEntry> zip_entries(std::string_view bytes, const std::string& where,
                                  const ZipMessages& words);

/// The entry's bytes, whose checksum must be right. Throws InputError.
std::string unpacked(const ZipEntry& entry, const std::string& where, const ZipMessages& words);

}  // namespace qkv::inline formats
