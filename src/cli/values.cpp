#include "cli/values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "text/nearest.hpp"

namespace qkv {
namespace {

Refusal not_empty(std::string_view what) {
  return [what](const std::string& name) -> std::string {
    return name.empty() ? fmt::format("the name is empty; write {}", what) : "";
  };
}

}  // namespace

Refusal one_of(std::vector<std::string> names) {
  return [names = std::move(names)](const std::string& wanted) -> std::string {
    if (std::find(names.begin(), names.end(), wanted) != names.end()) return {};
    const std::string near = nearest(wanted, names);
    return near.empty()
               ? fmt::format("\"{}\" is not possible; there are {}", wanted, fmt::join(names, ", "))
               : fmt::format("\"{}\" is not possible; did you mean \"{}\"?", wanted, near);
  };
}

Refusal whole_number(std::uint64_t fewest, std::uint64_t most) {
  return [fewest, most](const std::string& text) -> std::string {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (whole && number >= fewest && number <= most) return {};
    return fmt::format("\"{}\" is no whole number from {} to {}", text, fewest, most);
  };
}

Refusal a_path() { return not_empty("the path of a file or a directory"); }

Refusal a_step() { return not_empty("a step's name or its number"); }

Refusal a_share() {
  return [](const std::string& text) -> std::string {
    double share = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    if (is_number && share >= 0 && share <= 1) return {};
    return fmt::format("\"{}\" is no number from 0 to 1, such as 0.5", text);
  };
}

Refusal decimals() { return whole_number(0, 17); }

}  // namespace qkv
