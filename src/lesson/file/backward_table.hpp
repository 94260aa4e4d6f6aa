#pragma once

#include <optional>
#include <string>

#include "lesson/file/tables.hpp"
#include "lesson/file/toml_reader.hpp"
#include "trace/backward.hpp"

namespace qkv {

/// A lesson's [backward]; nothing, and faults, where it can't be understood.
std::optional<Backward> read_backward(const toml::table& table, TomlReader& reader);

/// A step that goes back through another by itself: op = "backward" with of, through and to.
/// Nothing, and a fault, where it can't.
std::optional<StepRecipe> read_backward_step(const toml::table& table, const std::string& name,
                                             std::vector<std::string> of, const Recipe& recipe,
                                             TomlReader& reader);

}  // namespace qkv
