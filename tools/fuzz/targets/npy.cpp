#include "formats/arrays/arrays.hpp"

#include "target.hpp"

namespace qkv::fuzz {
namespace {

void call(std::string_view bytes) {
  const ParsedArray written = read_npy(bytes, "npy");
  sound(written);
  law(same(written, read_npy(to_npy(tensor_of_numbers(written)), "again")),
      "what is written reads back");
}

}  // namespace

const Target target{.call = call, .memory_per_byte = 256};

}  // namespace qkv::fuzz
