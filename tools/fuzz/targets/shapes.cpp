#include "generated_lesson.hpp"
#include "lesson/library.hpp"
#include "lessons.hpp"
#include "target.hpp"
#include "trace/trace.hpp"

namespace qkv::fuzz {
namespace {

// A lesson of any operations, shapes and gradients: read, linted and, if it is valid, used.
void call(std::string_view bytes) {
  Choices choices(bytes);
  const std::size_t variant = choices.below(256);
  const std::string toml = generated_lesson(choices);
  ParsedLesson reading = read_lesson(toml, "lesson.toml", {});
  bool is_valid = true;
  for (const Fault& fault : lint(reading)) {
    law(!fault.message.empty(), "a fault says what is wrong");
    law(fault.message.find('\n') == fault.message.npos, "a fault is one line");
    law(fault.place.line >= 1 && fault.place.column >= 1, "a fault has a place");
    is_valid = is_valid && fault.kind == Fault::Kind::advice;
  }
  if (!is_valid) return;
  Trace trace = evaluate(reading.lesson.recipe);
  use_lesson({std::move(reading.lesson), std::move(trace)}, variant);
}

}  // namespace

const Target target{.call = call};

}  // namespace qkv::fuzz
