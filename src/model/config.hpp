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
  std::string where;           ///< the file that says so, as messages name it
  bool is_configured = false;  ///< whether that file is config.json, all of whose entries count
};

/// What is said of a model beside its tensors: "n_head" → "12". From the file's metadata, and from
/// a config.json beside it; what stands in an object has its name before it,
/// "rope_scaling.factor". Lists are JSON, and what is null is "null".
using Config = std::map<std::string, ConfigEntry, std::less<>>;

/// The facts of the model whose files are in `directory`: its metadata, else what stands in
/// config.json there. Without a directory the metadata alone.
Config config_of(const Weights& weights, const std::optional<std::filesystem::path>& directory);

/// The fact of that name; nullptr where there is none, or it is null.
const Config::value_type* find_entry(const Config& config, std::string_view name);

/// A whole number above 0; nothing where no such fact is there. Throws InputError where it says
/// something else.
std::optional<std::size_t> positive_integer(const Config& config, std::string_view name);

/// A number above 0. Nothing, or InputError, as above.
std::optional<double> positive_number(const Config& config, std::string_view name);
double positive_number(const Config& config, std::string_view name, double otherwise);

/// true or false. Throws InputError as above.
bool flag_entry(const Config& config, std::string_view name, bool otherwise);

/// A list of words, in JSON. Throws InputError as above.
std::optional<std::vector<std::string>> string_list(const Config& config, std::string_view name);

/// Throws InputError where the fact is there and is not this number: `why` says whose it is, and
/// what to do.
void require_entry(const Config& config, std::string_view name, std::size_t expected,
                   std::string_view why);

/// A size as a configuration calls it, as the tensors have it, and what it counts: "layers".
struct ConfigSize {
  std::string_view name;
  std::size_t expected = 0;
  std::string_view what;
};

/// The same of sizes, which the tensors of `file` tell.
void require_sizes(const Config& config, std::string_view file, std::span<const ConfigSize> sizes);

/// Throws InputError: what the fact says can't be, and why.
[[noreturn]] void refuse_entry(const Config::value_type& fact, std::string_view why);

/// What an entry of config.json may say.
struct ConfigRule {
  std::string_view key;
  std::string_view only = {};  ///< the one value that it may have, besides null; empty: any
  std::string_view why = {};   ///< what qkv does instead, where it has another
};

/// Throws InputError for an entry of config.json that neither `rules` nor the entries have that say
/// nothing of the numbers ("bos_token_id"), and for a value that a rule does not allow. `kind` says
/// in messages whose rules they are.
void refuse_unknown_config(const Config& config, std::span<const ConfigRule> rules,
                           std::string_view kind);

}  // namespace qkv::inline model
