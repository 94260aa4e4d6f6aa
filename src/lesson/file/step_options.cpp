#include "lesson/file/step_options.hpp"

#include <fmt/format.h>

#include "formats/files/read_file.hpp"
#include "lesson/file/own_directory.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

constexpr std::string_view keys_of_all_steps[] = {
    "name", "op", "of", "title", "say", "notice", "try", "cell", "show", "general", "marks"};

std::optional<OptionValue> option_value(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* whole = node.as_integer()) return static_cast<double>(whole->get());
  if (const auto* real = node.as_floating_point()) return real->get();
  const auto* list = node.as_array();
  if (!list || list->size() != 2) return {};
  const auto from = (*list)[0].value<double>();
  const auto to = (*list)[1].value<double>();
  if (!from || !to) return {};
  return OptionSpan{*from, *to};
}

// Throws InputError where the file can't be read.
std::string contents_of(const std::string& file, const GivenContext& context) {
  constexpr std::size_t largest = std::size_t{64} << 20;  // a vocabulary is a few megabytes
  return read_bytes(file_of_lesson(context.directory, file), largest);
}

}  // namespace

void refuse_unknown_step_keys(const toml::table& table, std::span<const std::string_view> own,
                              std::string_view operation, TomlReader& reader) {
  std::vector<std::string_view> known(std::begin(keys_of_all_steps), std::end(keys_of_all_steps));
  known.insert(known.end(), own.begin(), own.end());
  reader.refuse_unknown_keys(table, known, fmt::format("a {} step", operation));
}

Options read_step_options(const toml::table& table, const Operation& operation,
                          const GivenContext& context, TomlReader& reader) {
  std::vector<std::string_view> own;
  for (const OptionRule& rule : operation.options) own.push_back(rule.name);
  refuse_unknown_step_keys(table, own, operation.name, reader);
  Options options;
  for (const OptionRule& rule : operation.options) {
    const toml::node* node = table.get(rule.name);
    if (!node && rule.required) {
      reader.fault(table, fmt::format("this step needs {}: {}", rule.name, rule.says));
    }
    if (!node) continue;
    auto value = option_value(*node);
    const std::string wrong =
        value ? complaint(rule, *value)
              : fmt::format("{} must be {}", rule.name, rule.span ? choices(rule) : "one value");
    if (!wrong.empty()) {
      reader.fault(*node, wrong);
      continue;
    }
    const std::string name(rule.name);
    try {
      if (rule.file)
        options.set_contents(name, contents_of(std::get<std::string>(*value), context));
    } catch (const InputError& error) {
      reader.fault(*node, error.what());
    }
    options.set(name, std::move(*value));
  }
  return operation.turned(std::move(options), context.convention);
}

}  // namespace qkv
