#pragma once

#include <optional>
#include <string>

#include "lesson/file/tables.hpp"
#include "lesson/lesson.hpp"
#include "trace/trace.hpp"

namespace qkv {

/// Reads an [[expect]] table; nothing, and a fault, where it is wrong or nothing has that name.
std::optional<Expectation> read_expectation(const toml::table& table, const LessonNames& names,
                                            TomlReader& reader);

/// Says where the trace does not reproduce a published matrix to its printed digits (half a unit of
/// the last digit printed in it; in e-notation, in that number; whole numbers exactly where the
/// lesson's are whole); empty where it does. Throws InputError where the matrix is not in the
/// trace. Example: `scores[2,3] is 1.2345, published as 1.24 (page 7)`.
std::string disagreement(const Expectation& expectation, const Trace& trace);

}  // namespace qkv
