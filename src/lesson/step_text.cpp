#include "lesson/step_text.hpp"

#include <cmath>

namespace qkv {
namespace {

std::optional<double> read_marks(const toml::table& table, TomlReader& reader) {
  const toml::node* node = table.get("marks");
  if (!node) return {};
  constexpr double most = 1e6;
  const auto marks = node->value<double>();
  const bool is_sum = marks && *marks >= 0 && *marks <= most &&
                      std::abs(*marks * 100 - std::round(*marks * 100)) < 1e-6;
  if (node->is_number() && is_sum) return marks;
  reader.fault(*node,
               "marks must be a number from 0 to 1000000 with at most two decimals, such "
               "as marks = 7");
  return {};
}

}  // namespace

StepText read_step_text(const toml::table& table, TomlReader& reader) {
  return {.place = TomlReader::place(*table.get("name")),
          .title = reader.text(table, "title").value_or(""),
          .cell = reader.prose(table, "cell"),
          .works_cell = table["cell"].value_or(std::string_view(" ")) != "",
          .show = reader.flag(table, "show").value_or(true),
          .general = reader.flag(table, "general").value_or(false),
          .say = reader.prose(table, "say"),
          .notice = reader.prose(table, "notice"),
          .marks = read_marks(table, reader),
          .questions = reader.prose(table, "try")};
}

}  // namespace qkv
