#pragma once

#include "lesson/given.hpp"
#include "lesson/toml_reader.hpp"

namespace qkv {

/// Reads a lesson's [random] table, if it has one: whose random numbers its givens draw, and the
/// seed that the stream starts from.
void read_random(const toml::table& document, GivenContext& context, TomlReader& reader);

}  // namespace qkv
