#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "formats/written.hpp"

namespace qkv {

/// The most bytes that a file of numbers may have.
inline constexpr std::size_t largest_file = std::size_t{1} << 31;

/// All bytes of a file, or of a pipe. Throws InputError where there is no such file, it is a
/// directory, cannot be read, or has more than `limit` bytes.
std::string read_bytes(const std::filesystem::path& path, std::size_t limit = largest_file);

/// The numbers in a file, read by what its extension says; `expected` (rows, columns) tells labels
/// from numbers where the file does not: see read_csv. Throws InputError, also for an extension
/// that is not known.
Written read_written(const std::filesystem::path& path,
                     std::optional<std::array<std::size_t, 2>> expected = {});

/// The extensions that read_written knows, each with its point.
std::vector<std::string_view> readable_extensions();

}  // namespace qkv
