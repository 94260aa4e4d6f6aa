#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tokens/tokenizer_files.hpp"

namespace qkv::tokenizer_json {

/// What stands under the key; null where there is nothing.
const nlohmann::json& member(const nlohmann::json& object, std::string_view key);

/// The part's "type", or "none".
std::string type_of(const nlohmann::json& part);

/// true or false under the key.
bool flag(const nlohmann::json& object, std::string_view key, bool otherwise);

/// Throws InputError: what the file has, and what qkv reads.
[[noreturn]] void refuse_tokenizer(std::string_view what);

/// How tokenizer.json prepares and cuts a text: its normalizer and its pre_tokenizer. Throws
/// InputError for parts that qkv does not know.
void read_cutting(const nlohmann::json& tokenizer, BpeFiles& files);

}  // namespace qkv::tokenizer_json
