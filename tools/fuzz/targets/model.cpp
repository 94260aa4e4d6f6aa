#include "model/model.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "headers.hpp"
#include "target.hpp"
#include "trace/trace.hpp"

namespace qkv::fuzz {
namespace {

// The file in memory, under a path of its own: models are mapped.
std::string written(std::string_view header) {
  static const int file = ::memfd_create("model", 0);
  const std::string bytes = safetensors_of(header);
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
  model.recipe.environment.texts = {"A B"};
  evaluate_all(model.recipe);
}

}  // namespace

const Target target{.call = call, .memory_per_byte = std::size_t{1} << 12};

}  // namespace qkv::fuzz
