#include "formats/handwork/printed_text.hpp"

#include "formats/arrays/json.hpp"
#include "target.hpp"

namespace qkv::fuzz {
namespace {

void call(std::string_view bytes) {
  const ParsedArray written = read_printed_text(bytes, "pasted");
  sound(written);
  // Brackets say all: nested lists of the same numbers are the same matrix.
  const Tensor tensor = tensor_of_numbers(written);
  std::string lists;
  write_json({{"x", &tensor}}, {}, [&](std::string_view piece) { lists += piece; });
  law(same(written, read_json(lists, "again").front().written), "as JSON it reads back");
}

}  // namespace

const Target target{.call = call, .memory_per_byte = 1024};

}  // namespace qkv::fuzz
