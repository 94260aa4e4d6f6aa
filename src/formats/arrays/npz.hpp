#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "formats/parsed_array.hpp"
#include "formats/sink.hpp"

namespace qkv {

/// The most bytes that the arrays of one .npz file may have when they are unpacked.
inline constexpr std::size_t largest_unpacked = std::size_t{1} << 30;

/// The arrays in a .npz file, in its own order, each by its name: a zip archive of .npy files,
/// stored or deflated, as numpy.savez and numpy.savez_compressed write it. Every size and checksum
/// in the archive must be right, no entry may lie in another, and together the arrays may not have
/// more than `limit` bytes. `where` opens every message. Throws InputError.
std::vector<NamedWritten> read_npz(std::string_view bytes, const std::string& where,
                                   std::size_t limit = largest_unpacked);

/// Writes tensors as numpy.savez does: an archive of .npy files, <f8, each stored under its
/// tensor's name, dated 1980 so that the same tensors make the same bytes. Throws InputError where
/// they take more than 4 GB.
void write_npz(const std::vector<NamedTensor>& tensors, const Sink& sink);

}  // namespace qkv
