#include "formats/arrays/arrays.hpp"

#include "target.hpp"

namespace qkv::fuzz {
namespace {

void call(std::string_view bytes) {
  for (const NamedArray& tensor : read_safetensors(bytes, "safetensors")) {
    sound(tensor.written);
    const Tensor numbers = tensor_of_numbers(tensor.written);
    std::string file;
    write_safetensors({{"x", numbers}}, {}, [&](std::string_view piece) { file += piece; });
    law(same(tensor.written, read_safetensors(file, "again").front().written),
        "what is written reads back");
  }
}

}  // namespace

const Target target{.call = call, .memory_per_byte = 1024};

}  // namespace qkv::fuzz
