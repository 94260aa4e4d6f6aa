#pragma once

#include <span>
#include <string_view>

#include "model/config.hpp"

namespace qkv {

/// What an entry of config.json may say.
struct ConfigRule {
  std::string_view key;
  std::string_view only = {};  ///< the one value that it may have, besides null; empty: any
  std::string_view why = {};   ///< what qkv does instead, where it has another
};

/// Throws InputError for an entry of config.json that neither `rules` nor the entries have that say
/// nothing of the numbers ("bos_token_id"), and for a value that a rule does not allow. `kind` says
/// in messages whose rules they are.
void refuse_unknown_config(const Facts& facts, std::span<const ConfigRule> rules,
                           std::string_view kind);

}  // namespace qkv
