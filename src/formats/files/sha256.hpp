#pragma once

#include <nettle/sha2.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace qkv {

/// The SHA-256 (FIPS 180-4) of bytes that come piece after piece.
class Sha256 {
 public:
  Sha256();

  void add(std::string_view bytes);

  /// In 64 hexadecimal digits, as sha256sum prints it; what is added then begins another.
  std::string hex();

 private:
  sha256_ctx state_;
};

/// The SHA-256 of a file. Throws InputError where it can't be read.
std::string sha256_of(const std::filesystem::path& path);

}  // namespace qkv
