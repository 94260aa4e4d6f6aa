#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/weights.hpp"

namespace qkv::inline model {

struct ConfigEntry {
  std::string text;
  std::string where;           ///< the file with the entry, as named in messages
  bool is_configured = false;  ///< that file is config.json, all of whose entries count
};

/// The configuration of a model: "n_head" → "12", from config.json and the file's metadata. An
/// entry of a nested object has the object's name before it, "rope_scaling.factor". Lists are JSON,
/// null is "null".
using Config = std::map<std::string, ConfigEntry, std::less<>>;

/// Reads the model's configuration: config.json in `directory`, then the metadata for other names.
/// Without a directory the metadata alone.
Config config_of(const Weights& weights, const std::optional<std::filesystem::path>& directory);

/// Returns the entry of that name; nullptr if it is missing or null.
const Config::value_type* find_entry(const Config& config, std::string_view name);

/// Returns a positive integer entry; nothing if it is missing or null. Throws InputError for any
/// other value.
std::optional<std::size_t> positive_integer(const Config& config, std::string_view name);

/// Returns a positive finite entry. Nothing, or InputError, as above.
std::optional<double> positive_number(const Config& config, std::string_view name);
double positive_number(const Config& config, std::string_view name, double otherwise);

/// Returns a boolean entry. Throws InputError as above.
bool flag_entry(const Config& config, std::string_view name, bool otherwise);

/// Returns a list of strings, from JSON. Throws InputError as above.
std::optional<std::vector<std::string>> string_list(const Config& config, std::string_view name);

/// Throws InputError, with the reason `why`, if the entry is present and differs from `expected`.
void require_entry(const Config& config, std::string_view name, std::size_t expected,
                   std::string_view why);

/// A size: its entry, the number that the tensors have, and what it counts ("layers").
struct ConfigSize {
  std::string_view name;
  std::size_t expected = 0;
  std::string_view what;
};

/// Throws InputError if an entry differs from a size that the tensors of `file` have.
void require_sizes(const Config& config, std::string_view file, std::span<const ConfigSize> sizes);

/// Throws InputError: the entry, its value, and why it is refused.
[[noreturn]] void refuse_entry(const Config::value_type& fact, std::string_view why);

/// Returns the activation that an entry names: "silu", "relu", or a form of GELU, "erf" or "tanh".
/// Throws InputError for any other.
std::string activation_of(const Config::value_type& entry);

/// A known entry of config.json and its allowed value.
struct ConfigRule {
  std::string_view key;
  std::string_view only = {};  ///< the one allowed value besides null; empty: any
  std::string_view why = {};   ///< why other values are refused
};

/// Throws InputError for entries of config.json that are neither in `rules` nor irrelevant to the
/// numbers ("bos_token_id"), and for values that a rule forbids. `kind` names the model in
/// messages.
void refuse_unknown_config(const Config& config, std::span<const ConfigRule> rules,
                           std::string_view kind);

}  // namespace qkv::inline model
