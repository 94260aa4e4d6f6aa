#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "lesson/file/toml_reader.hpp"
#include "tensor/memory.hpp"
#include "tensor/random.hpp"
#include "trace/recipe.hpp"

namespace qkv::inline lesson {

/// The state shared by a lesson's [[given]] tables, read in file order.
struct GivenContext {
  std::filesystem::path directory;
  TokenLayout token_layout = TokenLayout::rows;
  std::optional<Generator> generator;
  std::optional<RandomStream> stream;
  MemoryBudget budget;  ///< of the numbers read so far
};

/// Reads a lesson's [random] table, if present: the generator that its givens draw from, and the
/// stream's seed.
void read_random(const toml::table& document, GivenContext& context, TomlReader& reader);

/// Reads one [[given]] table; empty if it has a fault. May draw from the context's stream.
std::optional<Given> read_given(const toml::table& table, GivenContext& context,
                                TomlReader& reader);

/// True for a valid name of a given or step: letters, digits and _, a letter first, parts joined by
/// dots.
bool is_name(std::string_view name);

/// Returns the path of a file that a lesson in `directory` names. Lessons may be untrusted, so only
/// regular files in or below their directory are allowed: no absolute path, no `..`, no link that
/// leads out. Throws InputError with a remedy.
std::filesystem::path file_of_lesson(const std::filesystem::path& directory,
                                     const std::string& file);

/// Lets every lesson name any file. Only the user who starts the program may allow this, so it
/// holds for the whole process.
void allow_outside_files();

}  // namespace qkv::inline lesson
