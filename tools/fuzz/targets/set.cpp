#include "lessons.hpp"
#include "target.hpp"

namespace qkv::fuzz {
namespace {

void call(std::string_view bytes) {
  const LoadedLesson changed = with_cell_set(small_lesson(), std::string(bytes));
  law(changed.trace.steps.size() == small_lesson()->trace.steps.size(), "no step is lost");
}

}  // namespace

const Target target{.call = call, .memory_per_byte = 1024};

}  // namespace qkv::fuzz
