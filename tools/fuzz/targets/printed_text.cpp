#include "formats/handwork/csv.hpp"

#include "formats/arrays/arrays.hpp"
#include "target.hpp"

namespace qkv::fuzz {
namespace {

// A part has as many numbers as its places of the axes make, which are within its shape.
void call_eval_callback(std::string_view bytes) {
  for (const NamedArray& array : read_eval_callback(bytes, "printed")) {
    const PrintedPart& part = *array.written.part;
    std::size_t count = 1;
    law(part.places.size() == array.written.shape.size(), "each axis has places");
    for (std::size_t a = 0; a < part.places.size(); ++a) {
      count *= part.places[a].size();
      law(!part.places[a].empty() && part.places[a].back() < array.written.shape[a], "within it");
    }
    law(count == part.cells.size(), "each place has a number");
  }
}

void call(std::string_view bytes) {
  if (is_eval_callback(bytes)) return call_eval_callback(bytes);
  const ParsedArray written = read_printed_text(bytes, "pasted");
  sound(written);
  // Brackets say all: nested lists of the same numbers are the same matrix.
  const Tensor tensor = tensor_of_numbers(written);
  std::string lists;
  write_json({{"x", tensor}}, {}, [&](std::string_view piece) { lists += piece; });
  law(same(written, read_json(lists, "again").front().written), "as JSON it reads back");
}

}  // namespace

const Target target{.call = call, .memory_per_byte = 1024};

}  // namespace qkv::fuzz
