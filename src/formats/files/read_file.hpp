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

/// All bytes of a file, or of a pipe. Throws InputError where there is no such file, it is a
/// directory, cannot be read, or has more than `limit` bytes.
std::string read_bytes(const std::filesystem::path& path, std::size_t limit = max_file_bytes);

/// The matrices in a file that are wanted, read by what its extension says. `.npz`, `.safetensors`
/// and JSON objects name theirs; any other file is one matrix without a name. Throws InputError,
/// also for an extension that is not known, and for a device.
std::vector<NamedArray> read_arrays(const std::filesystem::path& path,
                                    const ReadOptions& wanted = {});

/// The one matrix in a file; of several, the one named `key`. Throws InputError as above, and where
/// `key` names none (with the nearest), is needed, or is given where nothing has a name.
ParsedArray read_array(const std::filesystem::path& path,
                       const std::optional<std::string>& key = {});

/// Whether a file of this name may hold several matrices, each with a name of its own.
bool may_hold_several(const std::filesystem::path& path);

/// The extensions that qkv reads, each with its point.
std::vector<std::string_view> readable_extensions();

/// The bytes of a file without reading them all: a regular file is mapped into memory, so that only
/// what is looked at is read, whatever its size; a pipe is read to its end. Where the file
/// is cut short while this lives and what is gone is looked at, the program says so and ends with
/// status 2.
class MappedFile {
 public:
  struct Slot;

  /// Throws InputError where there is no such file, it is a directory, or cannot be read.
  explicit MappedFile(const std::filesystem::path& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::string_view bytes() const { return bytes_; }

  /// What was read of this part, which is of `bytes`, takes no memory until it is read again.
  void forget(std::string_view part) const;

 private:
  Slot* slot_ = nullptr;     ///< where the handler of a cut file finds it
  void* mapping_ = nullptr;  ///< nullptr where the bytes are a copy
  std::string copy_;
  std::string_view bytes_;
};

}  // namespace qkv::inline formats
