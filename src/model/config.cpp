#include "model/config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "formats/files/read_file.hpp"
#include "formats/handwork/numeral.hpp"
#include "text/error.hpp"
#include "text/number_in.hpp"

namespace qkv {
namespace {

using Json = nlohmann::json;

// The values of a JSON object as texts, those of objects in it with their names before them.
void add_object(const Json& object, const std::string& before, const std::string& where,
                Facts& facts) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = before + key;
    if (value.is_object() && before.empty() && !value.empty()) {
      add_object(value, name + ".", where, facts);
      continue;
    }
    facts.try_emplace(
        name, Fact{value.is_string() ? value.get<std::string>() : value.dump(), where, true});
  }
}

void add_config(const std::filesystem::path& path, Facts& facts) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return;
  constexpr std::size_t largest_config = std::size_t{1} << 20;
  const std::string bytes = read_bytes(path, largest_config);
  const auto json = Json::parse(bytes, nullptr, false);
  const std::string where = printable(path.string());
  if (!json.is_object() && bytes.starts_with("version https://git-lfs")) {
    refuse(where,
           "this is a pointer of Git LFS, which stands for a file that was not fetched: fetch "
           "it with git lfs pull");
  }
  if (!json.is_object()) {
    refuse(where, "this is no JSON object; mend it, or take it away from beside the model");
  }
  add_object(json, "", where, facts);
}

}  // namespace

Facts facts_of(const Weights& weights, const std::optional<std::filesystem::path>& directory) {
  Facts facts;
  for (const auto& [name, text] : weights.metadata()) facts[name] = {text, weights.where()};
  if (directory) add_config(*directory / "config.json", facts);
  return facts;
}

const Facts::value_type* find_fact(const Facts& facts, std::string_view name) {
  const auto found = facts.find(name);
  return found == facts.end() || found->second.text == "null" ? nullptr : &*found;
}

std::optional<std::size_t> whole_fact(const Facts& facts, std::string_view name) {
  const auto* found = find_fact(facts, name);
  if (!found) return {};
  const auto number = number_in<std::size_t>(found->second.text);
  if (number && *number > 0) return number;
  refuse_fact(*found, "it must be a whole number above 0");
}

std::optional<double> positive_fact(const Facts& facts, std::string_view name) {
  const auto* found = find_fact(facts, name);
  if (!found) return {};
  const NumeralResult number = parse_numeral(found->second.text);
  const double value = number.numeral.value;
  if (number.fault == NumeralFault::none && value > 0 && std::isfinite(value)) return value;
  refuse_fact(*found, "it must be a number above 0");
}

double positive_fact(const Facts& facts, std::string_view name, double otherwise) {
  return positive_fact(facts, name).value_or(otherwise);
}

bool flag_fact(const Facts& facts, std::string_view name, bool otherwise) {
  const auto* found = find_fact(facts, name);
  if (!found) return otherwise;
  if (found->second.text == "true") return true;
  if (found->second.text == "false") return false;
  refuse_fact(*found, "it must be true or false");
}

std::optional<std::vector<std::string>> words_fact(const Facts& facts, std::string_view name) {
  const auto* found = find_fact(facts, name);
  if (!found) return {};
  const auto list = Json::parse(found->second.text, nullptr, false);
  const auto is_word = [](const Json& word) { return word.is_string(); };
  if (list.is_array() && std::ranges::all_of(list, is_word)) {
    return list.get<std::vector<std::string>>();
  }
  refuse_fact(*found, "it must be a list of words");
}

void require_fact(const Facts& facts, std::string_view name, std::size_t due,
                  std::string_view why) {
  const auto stated = whole_fact(facts, name);
  if (stated && *stated != due) refuse_fact(*find_fact(facts, name), why);
}

void require_sizes(const Facts& facts, std::string_view file, std::span<const ConfigSize> sizes) {
  for (const ConfigSize& size : sizes) {
    require_fact(facts, size.name, size.due,
                 fmt::format("{} has {} {}: the file and its config.json must be one model's", file,
                             size.due, size.what));
  }
}

void refuse_fact(const Facts::value_type& fact, std::string_view why) {
  const auto& [name, told] = fact;
  throw InputError(
      fmt::format("{}: {} is {}; {}", told.where, printable(name), printable(told.text), why));
}

}  // namespace qkv
