#include "model/model.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "target.hpp"
#include "trace/evaluate.hpp"

namespace qkv::fuzz {
namespace {

constexpr std::size_t most_numbers = 1 << 14;

// How many bytes of numbers the header speaks of, as far as there is sense in giving it them.
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

// The file in memory, under a path of its own: models are mapped.
std::string written(std::string_view header) {
  static const int file = ::memfd_create("model", 0);
  std::string bytes;
  for (std::size_t i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xff);
  bytes += header;
  for (std::size_t i = numbers_after(header); i > 0; --i) bytes += i % 2 == 0 ? '<' : '\x11';
  law(::ftruncate(file, 0) == 0 &&
          ::pwrite(file, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
      "there is memory for a file");
  return fmt::format("/proc/self/fd/{}", file);
}

// The bytes are a model's header: what it says of its tensors. The numbers don't matter.
void call(std::string_view bytes) {
  Model model = read_model({.file = written(bytes),
                            .where = "model",
                            .architecture = {},
                            .tokeniser = {},
                            .layers = {},
                            .enough_layers = {}});
  law(model.words.size() == model.recipe.steps.size(), "each step has words");
  model.recipe.environment.texts = {"A B"};
  evaluate_all(model.recipe);
}

}  // namespace

const Target target{.call = call, .memory_per_byte = std::size_t{1} << 12};

}  // namespace qkv::fuzz
