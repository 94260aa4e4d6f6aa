#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace qkv {

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

}  // namespace qkv
