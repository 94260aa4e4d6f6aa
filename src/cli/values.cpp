#include "cli/values.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/number_in.hpp"
#include "text/suggest.hpp"

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
    return fmt::format("\"{}\" is not possible; {}", wanted, did_you_mean(wanted, choices));
  };
  return {std::move(name), Offer::choices, std::move(choices), std::move(refusal)};
}

ValueKind whole_number(std::uint64_t fewest, std::uint64_t most) {
  const auto refusal = [fewest, most](const std::string& text) -> std::string {
    const auto number = number_in<std::uint64_t>(text);
    if (number && *number >= fewest && *number <= most) return {};
    return fmt::format("\"{}\" is no whole number from {} to {}", text, fewest, most);
  };
  return {.name = "N", .refusal = refusal};
}

ValueKind decimals() { return whole_number(0, 17); }

ValueKind a_share() {
  const auto refusal = [](const std::string& text) -> std::string {
    const auto share = number_in<double>(text);
    if (share && *share >= 0 && *share <= 1) return {};
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
