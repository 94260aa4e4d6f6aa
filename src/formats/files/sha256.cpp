#include "formats/files/sha256.hpp"

#include <array>

#include "formats/files/mapped_file.hpp"

namespace qkv {

Sha256::Sha256() { sha256_init(&state_); }

void Sha256::add(std::string_view bytes) {
  sha256_update(&state_, bytes.size(), reinterpret_cast<const std::uint8_t*>(bytes.data()));
}

std::string Sha256::hex() {
  constexpr std::string_view digits = "0123456789abcdef";
  std::array<std::uint8_t, SHA256_DIGEST_SIZE> digest;
  sha256_digest(&state_, digest.size(), digest.data());
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

std::string sha256_of(const std::filesystem::path& path) {
  const MappedFile file(path);
  Sha256 sum;
  sum.add(file.bytes());
  return sum.hex();
}

}  // namespace qkv
