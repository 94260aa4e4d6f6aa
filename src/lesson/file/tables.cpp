#include "lesson/file/tables.hpp"

#include <fmt/format.h>

#include "lesson/file/given.hpp"
#include "text/suggest.hpp"

namespace qkv {

void LessonNames::foresee(const toml::table& document) {
  for (const std::string_view key : {"given", "step"}) {
    const toml::array* tables = document.get(key) ? document.get(key)->as_array() : nullptr;
    for (std::size_t i = 0; tables && i < tables->size(); ++i) {
      const toml::table* table = tables->get(i)->as_table();
      const toml::node* name = table ? table->get("name") : nullptr;
      if (name && name->is_string()) all_.add(name->as_string()->get());
    }
  }
}

void LessonNames::add(const std::string& name) {
  all_.add(name);
  met_.add(name);
}

std::optional<std::string> LessonNames::take(const toml::table& table, std::string_view what,
                                             TomlReader& reader) {
  if (!table.contains("name")) {
    reader.fault(table, fmt::format("this {} has no name; write name = \"Q\"", what));
    return {};
  }
  const auto name = reader.text(table, "name");
  if (!name) return {};
  const toml::node& at = *table.get("name");
  if (!is_name(*name)) {
    reader.fault(
        at,
        fmt::format("\"{}\" can't be a name; use letters, digits and _, a letter first", *name));
    return {};
  }
  if (met_.contains(*name)) {
    reader.fault(
        at, fmt::format("\"{}\" is there already; givens and steps share one set of names", *name));
    return {};
  }
  met_.add(*name);
  return name;
}

void LessonNames::require(const toml::node& at, const std::string& name, TomlReader& reader) const {
  if (met_.contains(name)) return;
  if (all_.contains(name)) {
    reader.fault(at, fmt::format("\"{}\" is made by this step or a later one; a step can only use "
                                 "what stands above it",
                                 name));
    return;
  }
  const std::string otherwise =
      met_.all().empty() ? "write it as a [[given]] first" : "there are " + some_of(met_.all());
  reader.fault(at, fmt::format("nothing is named \"{}\"; {}", name,
                               did_you_mean(name, met_.all(), otherwise)));
}

}  // namespace qkv
