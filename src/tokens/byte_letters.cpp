#include "tokens/byte_letters.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "text/unicode.hpp"

namespace qkv {
namespace {

std::array<std::string, 256> made_letters() {
  std::array<std::string, 256> letters;
  Code spare = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) ||
                           (byte >= 0xae && byte <= 0xff);
    append_code(letters[static_cast<std::size_t>(byte)], printable ? byte : spare++);
  }
  return letters;
}

}  // namespace

const std::array<std::string, 256>& byte_letters() {
  static const std::array<std::string, 256> letters = made_letters();
  return letters;
}

std::string in_letters(std::string_view bytes) {
  std::string letters;
  for (const char byte : bytes) letters += byte_letters()[static_cast<unsigned char>(byte)];
  return letters;
}

std::string bytes_in(std::string_view letters) {
  static const std::unordered_map<std::string, char> known = [] {
    std::unordered_map<std::string, char> bytes;
    const auto& all = byte_letters();
    for (std::size_t byte = 0; byte < all.size(); ++byte) {
      bytes.emplace(all[byte], static_cast<char>(byte));
    }
    return bytes;
  }();
  std::string bytes;
  for (std::size_t at = 0; at < letters.size();) {
    const std::size_t length = (static_cast<unsigned char>(letters[at]) & 0x80U) == 0 ? 1 : 2;
    const auto found = known.find(std::string(letters.substr(at, length)));
    if (found == known.end()) return {};
    bytes += found->second;
    at += length;
  }
  return bytes;
}

std::string written_bytes(std::string_view bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size();) {
    const auto [code, length] = decoded(bytes, at);
    const std::string_view character = bytes.substr(at, length);
    if (code == bad_byte) {
      text += byte_token(static_cast<unsigned char>(character.front()));
    } else {
      text += character;
    }
    at += length;
  }
  return text;
}

std::string byte_token(unsigned char byte) { return fmt::format("<0x{:02X}>", byte); }

}  // namespace qkv
