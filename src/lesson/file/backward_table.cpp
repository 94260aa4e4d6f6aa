#include "lesson/file/backward_table.hpp"

#include <fmt/format.h>

#include "lesson/file/step_options.hpp"
#include "ops/backward_rule.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

constexpr std::string_view backward_keys[] = {"of", "from", "wanted"};

// from = { output = "d_output" }
std::optional<std::vector<std::pair<std::string, std::string>>> read_from(const toml::table& table,
                                                                          TomlReader& reader) {
  const toml::node& node = *table.get("from");
  std::vector<std::pair<std::string, std::string>> from;
  if (!node.is_table() || node.as_table()->empty()) {
    reader.fault(node,
                 "from says which given arrives at which step: from = { output = "
                 "\"d_output\" }");
    return {};
  }
  for (const auto& [step, given] : *node.as_table()) {
    if (!given.is_string()) {
      reader.fault(given, fmt::format("write the given's name: from = {{ {} = \"d_{}\" }}",
                                      step.str(), step.str()));
      return {};
    }
    from.emplace_back(step.str(), given.as_string()->get());
  }
  return from;
}

}  // namespace

std::optional<Backward> read_backward(const toml::table& table, TomlReader& reader) {
  reader.refuse_unknown_keys(table, backward_keys, "[backward]");
  Backward backward;
  if (table.contains("of")) {
    const auto of = reader.text(table, "of");
    if (!of) return {};
    backward.of = *of;
  }
  if (table.contains("from")) {
    auto from = read_from(table, reader);
    if (!from) return {};
    backward.from = *std::move(from);
  }
  if (table.contains("wanted")) {
    auto wanted = reader.texts(table, "wanted");
    if (!wanted) return {};
    backward.wanted = *std::move(wanted);
  }
  if (!backward.of.empty() || !backward.from.empty()) return backward;
  reader.fault(table,
               "[backward] says where it begins: of = \"loss\", a step of one number, or "
               "from = { output = \"d_output\" } with a gradient that is a [[given]]");
  return {};
}

std::optional<StepRecipe> read_backward_step(const toml::table& table, const std::string& name,
                                             std::vector<std::string> of, const Recipe& recipe,
                                             TomlReader& reader) {
  constexpr std::string_view own_keys[] = {"through", "to"};
  refuse_unknown_step_keys(table, own_keys, backward_name, reader);
  const auto through = reader.text(table, "through");
  const auto to = reader.text(table, "to");
  if (!through || !to || of.size() != 1) {
    reader.fault(table,
                 "a backward step takes the gradient that arrives, the step that it goes "
                 "back through and what that was made of: of = [\"d_scores\"], through = "
                 "\"scores\", to = \"Q\"");
    return {};
  }
  try {
    return backward_step(recipe, name, std::move(of.front()), *through, *to);
  } catch (const InputError& error) {
    reader.fault(table, error.what());
    return {};
  }
}

}  // namespace qkv
