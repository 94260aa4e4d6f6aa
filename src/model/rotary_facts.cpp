#include "model/rotary_facts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "formats/handwork/numeral.hpp"
#include "text/error.hpp"
#include "text/suggest.hpp"

namespace qkv {
namespace {

// Hugging Face's entry, and the option of `rope` that it is.
struct Part {
  std::string_view key;
  std::string_view option;
  bool is_needed = false;
  double otherwise = 0;  ///< what Hugging Face takes where it is not said; 0: nothing is set
};

struct Scaling {
  std::string_view name;
  std::string_view option;  ///< as `rope` calls it
  std::span<const Part> parts;
  bool has_length = false;  ///< needs the length that it was trained with
};

constexpr Part factor[] = {{"factor", "factor", true}};
constexpr Part llama3[] = {{"factor", "factor", true},
                           {"low_freq_factor", "low_freq_factor", true},
                           {"high_freq_factor", "high_freq_factor", true}};
constexpr Part yarn[] = {{"factor", "factor", true},
                         {"beta_fast", "beta_fast", false, 32},
                         {"beta_slow", "beta_slow", false, 1}};
constexpr Scaling scalings[] = {
    {"default", "none", {}},
    {"linear", "linear", factor},
    {"dynamic", "dynamic", factor, true},
    {"llama3", "llama3", llama3, true},
    {"yarn", "yarn", yarn, true},
};

// Where the entries stand: the older name of the object, or the newer one.
std::string object_of(const Facts& facts) {
  const auto has = [&](std::string_view object) {
    return std::ranges::any_of(facts,
                               [&](const auto& fact) { return fact.first.starts_with(object); });
  };
  return has("rope_parameters.") ? "rope_parameters." : "rope_scaling.";
}

// What is said twice must be said alike, and an entry that is no object says nothing.
void refuse_what_contradicts(const Facts& facts, const std::string& object) {
  for (const char* name : {"rope_scaling", "rope_parameters"}) {
    const auto* fact = find_fact(facts, name);
    if (fact) refuse_fact(*fact, "it must be an object, such as {\"rope_type\": \"default\"}");
  }
  const auto older = facts.lower_bound("rope_scaling.");
  if (object == "rope_parameters." && older != facts.end() &&
      older->first.starts_with("rope_scaling.")) {
    refuse_fact(*older, "rope_parameters is there, too; only one of the two can be");
  }
  const std::pair<std::string, std::string> twice[] = {{object + "rope_type", object + "type"},
                                                       {object + "rope_theta", "rope_theta"}};
  for (const auto& [name, other] : twice) {
    const auto* one = find_fact(facts, name);
    const auto* two = find_fact(facts, other);
    if (!one || !two || one->second.text == two->second.text) continue;
    const bool is_number = other == "rope_theta";
    if (is_number && positive_fact(facts, name) == positive_fact(facts, other)) continue;
    refuse_fact(*one, fmt::format("{} is {}; only one of the two can be", other,
                                  printable(two->second.text)));
  }
}

const Scaling& scaling_of(const Facts& facts, const std::string& object) {
  const auto* told = find_fact(facts, object + "rope_type");
  if (!told) told = find_fact(facts, object + "type");
  if (!told) {
    for (const auto& [key, fact] : facts) {
      if (!key.starts_with(object) || key == object + "rope_theta") continue;
      throw InputError(fmt::format("{}: {} is there, and no {}rope_type to say which scaling it is",
                                   fact.where, printable(key), object));
    }
    return scalings[0];
  }
  std::vector<std::string_view> names;
  for (const Scaling& scaling : scalings) {
    if (scaling.name == told->second.text) return scaling;
    names.push_back(scaling.name);
  }
  refuse_fact(*told, fmt::format("qkv knows the scalings {}", fmt::join(names, ", ")));
}

void refuse_unknown_parts(const Facts& facts, const std::string& object, const Scaling& scaling) {
  for (const Facts::value_type& fact : facts) {
    if (!fact.first.starts_with(object) || fact.second.text == "null") continue;
    const std::string_view key = std::string_view(fact.first).substr(object.size());
    const bool is_part = std::ranges::find(scaling.parts, key, &Part::key) != scaling.parts.end();
    const bool is_shared = key == "rope_type" || key == "type" || key == "rope_theta" ||
                           key == "partial_rotary_factor";
    const bool is_length = scaling.has_length && key == "original_max_position_embeddings";
    if (is_part || is_shared || is_length) continue;
    if (scaling.name == "yarn" && key == "attention_factor") continue;
    refuse_fact(fact,
                fmt::format("the scaling \"{}\" has no such entry that qkv knows; take it out "
                            "if it changes no number",
                            scaling.name));
  }
}

// yarn's own attention factor follows from its factor; qkv knows no other.
void refuse_other_attention_factor(const Facts& facts, const std::string& object) {
  const auto stated = positive_fact(facts, object + "attention_factor");
  if (!stated) return;
  const double due = 0.1 * std::log(positive_fact(facts, object + "factor", 1)) + 1;
  constexpr double printed = 1e-6;  // as it stands in files
  if (std::abs(*stated - due) <= printed) return;
  refuse_fact(*find_fact(facts, object + "attention_factor"),
              fmt::format("qkv knows yarn's own, 0.1 · ln(factor) + 1 = {}", due));
}

// A number that the scaling needs or has by itself.
void set_part(const Facts& facts, const std::string& object, const Scaling& scaling,
              const Part& part, Options& options) {
  const auto value = positive_fact(facts, object + std::string(part.key));
  if (value || part.otherwise > 0) {
    options.set(std::string(part.option), value.value_or(part.otherwise));
  } else if (part.is_needed) {
    throw InputError(fmt::format("{}: the scaling \"{}\" needs {}{}",
                                 facts.lower_bound(object)->second.where, scaling.name, object,
                                 part.key));
  }
}

void set_length(const Facts& facts, const std::string& object, const Scaling& scaling,
                Options& options) {
  auto length = whole_fact(facts, object + "original_max_position_embeddings");
  if (!length) length = whole_fact(facts, "max_position_embeddings");
  if (!length) {
    throw InputError(fmt::format("{}: the scaling \"{}\" needs {}original_max_position_embeddings",
                                 facts.lower_bound(object)->second.where, scaling.name, object));
  }
  options.set("original_length", static_cast<double>(*length));
}

void refuse_partial_turns(const Facts& facts, const std::string& object) {
  for (const std::string& before : {object, std::string()}) {
    const std::string name = before + "partial_rotary_factor";
    if (positive_fact(facts, name, 1) == 1) continue;
    refuse_fact(*find_fact(facts, name),
                "in the models that qkv reads all of a head's columns turn");
  }
}

}  // namespace

Options rotary_options(const Facts& facts) {
  const std::string object = object_of(facts);
  refuse_what_contradicts(facts, object);
  const Scaling& scaling = scaling_of(facts, object);
  refuse_unknown_parts(facts, object, scaling);
  refuse_partial_turns(facts, object);
  constexpr double usual_base = 10000;
  Options options;
  options.set("pairing", std::string("halves"));
  options.set("base", positive_fact(facts, object + "rope_theta",
                                    positive_fact(facts, "rope_theta", usual_base)));
  if (scaling.option == "none") return options;
  options.set("scaling", std::string(scaling.option));
  for (const Part& part : scaling.parts) set_part(facts, object, scaling, part, options);
  if (scaling.name == "yarn") refuse_other_attention_factor(facts, object);
  if (scaling.has_length) set_length(facts, object, scaling, options);
  return options;
}

}  // namespace qkv
