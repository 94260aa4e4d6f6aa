#include "lessons.hpp"
#include "target.hpp"

namespace qkv::fuzz {
namespace {

// A lesson through everything that a person does with it. Its length chooses the width and slips.
// The course's models are large for that; `checkpoint` has small ones.
void call(std::string_view bytes) {
  if (is_large(bytes) || bytes.find("[model]") != bytes.npos) return;
  use_lesson(evaluated_lesson(bytes), bytes.size());
}

}  // namespace

const Target target{.call = call};

}  // namespace qkv::fuzz
