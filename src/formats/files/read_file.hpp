#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/format.hpp"
#include "formats/parsed_array.hpp"

namespace qkv::inline formats {

/// The most bytes that a file of numbers may have.
inline constexpr std::size_t max_file_bytes = std::size_t{1} << 31;

/// Reads a whole file or pipe. Throws InputError if it does not exist, is a directory, cannot be
/// read, or has more than `limit` bytes.
std::string read_bytes(const std::filesystem::path& path, std::size_t limit = max_file_bytes);

/// Reads the wanted matrices of a file; its extension says how. Those of `.npz`, `.safetensors` and
/// JSON objects have names; any other file is one matrix without a name. Throws InputError, also
/// for an unknown extension and for a device.
std::vector<NamedArray> read_arrays(const std::filesystem::path& path,
                                    const ReadOptions& wanted = {});

/// Reads the only matrix of a file, or the one named `key`. Throws InputError as above, and if
/// `key` is unknown (with the nearest name), missing, or given for a file without names.
ParsedArray read_array(const std::filesystem::path& path,
                       const std::optional<std::string>& key = {});

/// True if a file of this name may hold several named matrices.
bool may_hold_several(const std::filesystem::path& path);

/// The extensions that qkv reads, with the point.
std::vector<std::string_view> readable_extensions();

/// Read-only access to a file's bytes. Regular files are mapped, so that only used pages are read;
/// pipes are read to the end. If another program truncates a mapped file, using a lost page ends
/// the program (SIGBUS).
class MappedFile {
 public:
  /// Throws InputError if the file does not exist, is a directory, or cannot be read.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::string_view bytes() const { return bytes_; }

  /// Releases the memory of `part`, a part of `bytes`; it is read again on demand.
  void forget(std::string_view part) const;

 private:
  void* mapping_ = nullptr;  ///< nullptr if the bytes are a copy
  std::string copy_;
  std::string_view bytes_;
};

}  // namespace qkv::inline formats
