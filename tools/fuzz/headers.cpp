#include "headers.hpp"

#include <algorithm>
#include <charconv>

namespace qkv::fuzz {
namespace {

constexpr std::size_t most_numbers = 1 << 14;

std::size_t numbers_after(std::string_view header) {
  constexpr std::string_view key = "data_offsets";
  std::size_t end = 0;
  for (std::size_t at = header.find(key); at != header.npos; at = header.find(key, at + 1)) {
    const std::size_t comma = std::min(header.find(',', at), header.size() - 1);
    const std::size_t digit = header.find_first_not_of(' ', comma + 1);
    std::size_t offset = 0;
    if (digit == header.npos) continue;
    std::from_chars(header.data() + digit, header.data() + header.size(), offset);
    if (offset <= most_numbers) end = std::max(end, offset);
  }
  return end;
}

}  // namespace

std::string safetensors_of(std::string_view header) {
  std::string bytes;
  for (std::size_t i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  bytes += header;
  for (std::size_t i = numbers_after(header); i > 0; --i) bytes += i % 2 == 0 ? '<' : '\x11';
  return bytes;
}

}  // namespace qkv::fuzz
