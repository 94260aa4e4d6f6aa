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

constexpr std::string_view place_of_file = "the path of a file or a directory";

}  // namespace

ValueKind one_of(std::string name, std::vector<std::string> choices) {
  Refusal refusal = [choices](const std::string& wanted) -> std::string {
    if (std::find(choices.begin(), choices.end(), wanted) != choices.end()) return {};
    const std::string near = nearest(wanted, choices);
    return near.empty() ? fmt::format("\"{}\" is not possible; there are {}", wanted,
                                      fmt::join(choices, ", "))
                        : fmt::format("\"{}\" is not possible; did you mean \"{}\"?", wanted, near);
  };
  return {std::move(name), Offer::choices, std::move(choices), std::move(refusal)};
}

ValueKind whole_number(std::uint64_t fewest, std::uint64_t most) {
  const auto refusal = [fewest, most](const std::string& text) -> std::string {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool whole = error == std::errc() && end == text.data() + text.size();
    if (whole && number >= fewest && number <= most) return {};
    return fmt::format("\"{}\" is no whole number from {} to {}", text, fewest, most);
  };
  return {.name = "N", .refusal = refusal};
}

ValueKind decimals() { return whole_number(0, 17); }

ValueKind a_share() {
  const auto refusal = [](const std::string& text) -> std::string {
    double share = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    if (is_number && share >= 0 && share <= 1) return {};
    return fmt::format("\"{}\" is no number from 0 to 1, such as 0.5", text);
  };
  return {.name = "SHARE", .refusal = refusal};
}

ValueKind a_file() {
  return {.name = "FILE", .offer = Offer::files, .refusal = not_empty(place_of_file)};
}

ValueKind a_directory() {
  return {.name = "DIR", .offer = Offer::directories, .refusal = not_empty(place_of_file)};
}

ValueKind a_path() {
  return {.name = "PATH", .offer = Offer::files, .refusal = not_empty(place_of_file)};
}

ValueKind a_lesson() { return {.name = "LESSON", .offer = Offer::lessons}; }

ValueKind a_step() {
  return {
      .name = "NAME", .offer = Offer::steps, .refusal = not_empty("a step's name or its number")};
}

ValueKind a_cell() { return {.name = "CELL", .offer = Offer::cells}; }

}  // namespace qkv
