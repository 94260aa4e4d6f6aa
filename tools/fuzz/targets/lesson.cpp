#include "lesson/lesson.hpp"

#include "lesson/library.hpp"
#include "lessons.hpp"
#include "target.hpp"
#include "text/strings.hpp"
#include "text/unicode.hpp"

namespace qkv::fuzz {
namespace {

// Reads and lints: what is wrong with a lesson is a list of faults, and nothing is thrown.
void call(std::string_view bytes) {
  if (is_large(bytes)) return;
  try {
    const ParsedLesson reading = read_lesson(bytes, "lesson.toml", files_of(bytes));
    for (const Fault& fault : lint(reading)) {
      law(!fault.message.empty(), "a fault says what is wrong");
      law(fault.place.line >= 1 && fault.place.column >= 1, "a fault has a place");
      sanitise(fault_line(reading.lesson, fault));
    }
  } catch (const InputError&) {
    law(false, "reading a lesson throws nothing");
  }
}

}  // namespace

const Target target{.call = call};

}  // namespace qkv::fuzz
