#include "formats/arrays/arrays.hpp"

#include "target.hpp"

namespace qkv::fuzz {
namespace {

void call(std::string_view bytes) {
  for (const NamedArray& matrix : read_json(bytes, "json")) {
    sound(matrix.written);
    const Tensor tensor = tensor_of_numbers(matrix.written);
    std::string text;
    write_json({{"x", tensor}}, {}, [&](std::string_view piece) { text += piece; });
    law(same(matrix.written, read_json(text, "again").front().written),
        "what is written reads back");
  }
}

}  // namespace

const Target target{.call = call, .memory_per_byte = 1024};

}  // namespace qkv::fuzz
