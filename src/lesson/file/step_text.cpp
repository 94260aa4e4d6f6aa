#include "lesson/file/step_text.hpp"

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

constexpr std::string_view largest = "largest";

// Whether the walk shows the matrix; false as well where it shows the largest of its last row.
bool read_show(const toml::table& table, TomlReader& reader) {
  const toml::node* node = table.get("show");
  if (!node) return true;
  if (const auto flag = node->value_exact<bool>()) return *flag;
  if (node->value_exact<std::string_view>() != largest) {
    reader.fault(*node, "show must be true, false or \"largest\", for the last row's five largest");
  }
  return false;
}

}  // namespace

StepText read_step_text(const toml::table& table, TomlReader& reader) {
  return {.place = TomlReader::place(*table.get("name")),
          .title = reader.text(table, "title").value_or(""),
          .cell = reader.prose(table, "cell"),
          .works_cell = table["cell"].value_or(std::string_view(" ")) != "",
          .show = read_show(table, reader),
          .largest = table["show"].value_or(std::string_view()) == largest,
          .general = reader.flag(table, "general").value_or(false),
          .say = reader.prose(table, "say"),
          .notice = reader.prose(table, "notice"),
          .marks = read_marks(table, reader),
          .questions = reader.prose(table, "try")};
}

}  // namespace qkv
