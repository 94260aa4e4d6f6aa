#pragma once

#include "lesson/file/toml_reader.hpp"
#include "lesson/lesson.hpp"

namespace qkv {

/// What a lesson's table says about a step, its name being there; faults where it can't be read.
StepText read_step_text(const toml::table& table, TomlReader& reader);

}  // namespace qkv
