#include "model/facts.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "formats/numeral.hpp"
#include "formats/read_file.hpp"
#include "text/error.hpp"
#include "text/number_in.hpp"

namespace qkv {
namespace {

// The values of a JSON object's own keys as texts.
void add_config(const std::filesystem::path& path, Facts& facts) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return;
  constexpr std::size_t largest_config = std::size_t{1} << 20;
  const auto json = nlohmann::json::parse(read_bytes(path, largest_config), nullptr, false);
  const std::string where = printable(path.string());
  if (!json.is_object()) {
    refuse(where, "this is no JSON object; mend it, or take it away from beside the model");
  }
  for (const auto& [key, value] : json.items()) {
    if (value.is_string()) facts.try_emplace(key, Fact{value.get<std::string>(), where});
    if (value.is_number() || value.is_boolean()) facts.try_emplace(key, Fact{value.dump(), where});
  }
}

}  // namespace

Facts facts_of(const Weights& weights, const std::filesystem::path& file) {
  Facts facts;
  for (const auto& [name, text] : weights.metadata()) facts[name] = {text, weights.where()};
  if (!file.empty()) add_config(file.parent_path() / "config.json", facts);
  return facts;
}

std::optional<std::size_t> whole_fact(const Facts& facts, std::string_view name) {
  const auto found = facts.find(name);
  if (found == facts.end()) return {};
  const auto number = number_in<std::size_t>(found->second.text);
  if (number && *number > 0) return number;
  refuse_fact(*found, "it must be a whole number above 0");
}

double positive_fact(const Facts& facts, std::string_view name, double otherwise) {
  const auto found = facts.find(name);
  if (found == facts.end()) return otherwise;
  const NumeralResult number = parse_numeral(found->second.text);
  const double value = number.numeral.value;
  if (number.fault == NumeralFault::none && value > 0 && std::isfinite(value)) return value;
  refuse_fact(*found, "it must be a number above 0");
}

void refuse_fact(const Facts::value_type& fact, std::string_view why) {
  const auto& [name, told] = fact;
  throw InputError(
      fmt::format("{}: {} is {}; {}", told.where, printable(name), printable(told.text), why));
}

}  // namespace qkv
