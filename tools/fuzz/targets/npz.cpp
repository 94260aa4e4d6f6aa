#include "formats/arrays/arrays.hpp"

#include <zlib.h>

#include <cstdint>

#include "target.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max);

namespace qkv::fuzz {
namespace {

void call(std::string_view bytes) {
  for (const NamedArray& array : read_npz(bytes, "npz", {.most_bytes = std::size_t{1} << 22})) {
    sound(array.written);
  }
}

constexpr std::size_t directory_entry = 46;
constexpr std::size_t local_entry = 30;

std::size_t number(const std::uint8_t* at, std::size_t size) {
  std::size_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | at[i];
  return value;
}

void put(std::uint8_t* at, std::size_t value) {
  for (std::size_t i = 0; i < 4; ++i) at[i] = static_cast<std::uint8_t>(value >> (8 * i));
}

// Gives the entry of the directory at `entry` the checksum (and, where it is stored, the size) of
// what lies where it says: else every mutation would end at the checksum.
void mend_entry(std::uint8_t* data, std::size_t size, std::uint8_t* entry) {
  const std::size_t header = number(entry + 42, 4);
  if (header > size || size - header < local_entry) return;
  const std::size_t start =
      header + local_entry + number(data + header + 26, 2) + number(data + header + 28, 2);
  const std::size_t packed = number(entry + 20, 4);
  if (start > size || packed > size - start) return;
  if (number(entry + 10, 2) == 0) {
    put(entry + 24, packed);
    put(entry + 16, crc32_z(0, data + start, packed));
    return;
  }
  std::uint8_t unpacked[1 << 14];
  z_stream stream = {};
  stream.next_in = data + start;
  stream.avail_in = static_cast<uInt>(packed);
  stream.next_out = unpacked;
  stream.avail_out = sizeof unpacked;
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return;
  inflate(&stream, Z_FINISH);
  put(entry + 24, stream.total_out);
  put(entry + 16, crc32_z(0, unpacked, stream.total_out));
  inflateEnd(&stream);
}

}  // namespace

void mend_archive(std::uint8_t* data, std::size_t size) {
  for (std::size_t at = 0; at + directory_entry <= size; ++at) {
    if (std::string_view(reinterpret_cast<const char*>(data + at), 4) == "PK\x01\x02") {
      mend_entry(data, size, data + at);
    }
  }
}

const Target target{.call = call, .memory_per_byte = std::size_t{1032} * 64};

}  // namespace qkv::fuzz

// Half of the mutations are mended, so that they get behind the checksums.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max, unsigned seed) {
  const std::size_t mutated = LLVMFuzzerMutate(data, size, max);
  if (seed % 2 == 0) qkv::fuzz::mend_archive(data, mutated);
  return mutated;
}
