#include "cli/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "text/suggest.hpp"

namespace qkv::inline cli {
CLI::Validator one_of(const std::vector<std::string>& choices) {
  const auto check = [choices](const std::string& wanted) -> std::string {
    if (std::ranges::find(choices, wanted) != choices.end()) return {};
    return fmt::format("\"{}\" is not possible; {}", wanted, did_you_mean(wanted, choices));
  };
  return {check, fmt::format("{{{}}}", fmt::join(choices, ","))};
}

CLI::Range count_from(std::int64_t fewest) {
  return {fewest, std::int64_t{std::numeric_limits<std::uint32_t>::max()}};
}

CLI::Range decimals() { return {0, 17}; }

std::string check_path(const std::string& name) {
  return name.empty() ? "the name is empty; write the path of a file or a directory" : "";
}

std::string check_step(const std::string& name) {
  return name.empty() ? "the name is empty; write a step's name or its number" : "";
}

std::string placeholder(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name();
  const std::string type = option.get_type_name();
  return option.get_type_size() == 0 ? "" : type.substr(0, type.find(':'));
}

std::vector<std::string> option_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  if (names.empty()) names.push_back(option.get_name());
  return names;
}

}  // namespace qkv::inline cli
