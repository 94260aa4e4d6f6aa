#include "formats/arrays/arrays.hpp"

#include <zlib.h>

#include "formats/arrays/dtype.hpp"
#include "target.hpp"

namespace qkv::fuzz {
namespace {

std::string number(std::size_t value, std::size_t size) { return little_endian(value, size); }

// A stored file of an archive: what both of its headers say, and its bytes.
struct Stored {
  std::string name;
  std::string_view bytes;

  std::string header() const {
    const auto* data = reinterpret_cast<const Bytef*>(bytes.data());
    return number(20, 2) + number(0, 8) + number(crc32_z(0, data, bytes.size()), 4) +
           number(bytes.size(), 4) + number(bytes.size(), 4) + number(name.size(), 2) +
           number(0, 2);
  }
};

// The bytes are the pickle of a file of torch.save that has one storage of 64 bytes.
std::string archive(std::string_view pickle) {
  static const std::string storage(64, '\x3f');
  std::string whole, directory;
  for (const Stored& file : {Stored{"x/data.pkl", pickle}, Stored{"x/data/0", storage}}) {
    directory += "PK\x01\x02" + number(20, 2) + file.header() + std::string(10, '\0') +
                 number(whole.size(), 4) + file.name;
    whole += "PK\x03\x04" + file.header() + file.name + std::string(file.bytes);
  }
  const std::size_t start = whole.size();
  return whole + directory + "PK\x05\x06" + number(0, 4) + number(2, 2) + number(2, 2) +
         number(directory.size(), 4) + number(start, 4) + number(0, 2);
}

void call(std::string_view bytes) {
  for (const NamedArray& array : read_pytorch(archive(bytes), "pytorch", {})) sound(array.written);
}

}  // namespace

const Target target{.call = call, .memory_per_byte = std::size_t{1} << 16};

}  // namespace qkv::fuzz
