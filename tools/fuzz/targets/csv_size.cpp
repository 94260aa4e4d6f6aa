#include "formats/handwork/csv.hpp"
#include "target.hpp"

namespace qkv::fuzz {
namespace {

// The size that is expected: the first two bytes.
void call(std::string_view bytes) {
  if (bytes.size() < 2) return;
  const auto size = [&](std::size_t i) {
    return std::size_t{static_cast<unsigned char>(bytes[i])};
  };
  sound(read_csv(bytes.substr(2), "csv", {.expected = {{size(0), size(1)}}}));
}

}  // namespace

const Target target{.call = call, .memory_per_byte = 512};

}  // namespace qkv::fuzz
