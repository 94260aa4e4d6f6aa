#include "lesson/lesson.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/utf8.hpp"

namespace qkv {

std::optional<std::string_view> LessonFiles::built_in(std::string_view name) const {
  const auto found = std::ranges::find(program, name, &BuiltInFile::name);
  return found == program.end() ? std::nullopt : std::optional(found->bytes);
}

std::string fault_line(const Lesson& lesson, const Fault& fault) {
  return fmt::format("{}:{}:{}: {}{}", lesson.where, fault.place.line, fault.place.column,
                     fault.kind == Fault::Kind::advice ? "advice: " : "",
                     without_middle(fault.message));
}

}  // namespace qkv
