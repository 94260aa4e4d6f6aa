#include "check/intake/step_names.hpp"
#include "formats/files/read_file.hpp"
#include "lessons.hpp"
#include "target.hpp"

namespace qkv::fuzz {
namespace {

// What a file's name says: which step, which of its matrices.
void call(std::string_view bytes) {
  file_stem(bytes);
  const Trace& trace = small_lesson()->trace;
  const auto name = step_name(bytes, trace, "file");
  if (!name) return;
  const Tensor& tensor = trace.at(name->name);
  law(name->leading.empty() || name->leading.size() == tensor.leading_axes(), "a place an axis");
  for (std::size_t a = 0; a < name->leading.size(); ++a) {
    law(name->leading[a] < tensor.axes[a].size, "the place is in the axis");
  }
}

}  // namespace

const Target target{.call = call, .memory_per_byte = 1024};

}  // namespace qkv::fuzz
