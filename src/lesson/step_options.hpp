#pragma once

#include "lesson/given.hpp"
#include "lesson/toml_reader.hpp"
#include "ops/operation.hpp"

namespace qkv {

/// Reads what a [[step]] says beside its name, words and operands: the options of its operation,
/// with the files that they name. A fault for each that is missing, unknown or wrong.
Options read_step_options(const toml::table& table, const Operation& operation,
                          const GivenContext& context, TomlReader& reader);

}  // namespace qkv
