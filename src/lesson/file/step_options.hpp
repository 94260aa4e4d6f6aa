#pragma once

#include "lesson/file/given.hpp"
#include "lesson/file/toml_reader.hpp"
#include "ops/operation.hpp"

namespace qkv {

/// Reads what a [[step]] says beside its name, words and operands: the options of its operation,
/// with the files that they name. A fault for each that is missing, unknown or wrong.
Options read_step_options(const toml::table& table, const Operation& operation,
                          const GivenContext& context, TomlReader& reader);

/// A fault for every key that neither all steps have nor this operation's.
void refuse_unknown_step_keys(const toml::table& table, std::span<const std::string_view> own,
                              std::string_view operation, TomlReader& reader);

}  // namespace qkv
