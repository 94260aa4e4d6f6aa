#include "formats/arrays/arrays.hpp"
#include "formats/arrays/dtype.hpp"

#include "target.hpp"

namespace qkv::fuzz {
namespace {

void call(std::string_view bytes) {
  const ParsedArray written = read_npy(bytes, "npy");
  sound(written);
  const Tensor numbers = tensor_of_numbers(written);
  const std::string again = npy_header(numbers.shape()).append(bytes_of(numbers.values));
  law(same(written, read_npy(again, "again")), "what is written reads back");
}

}  // namespace

const Target target{.call = call, .memory_per_byte = 256};

}  // namespace qkv::fuzz
