#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "lesson/file/toml_reader.hpp"
#include "tensor/memory.hpp"
#include "tensor/random.hpp"
#include "trace/recipe.hpp"

namespace qkv::inline lesson {

/// What the [[given]] tables of one lesson share while they are read in file order.
struct GivenContext {
  std::filesystem::path directory;
  TokenLayout token_layout = TokenLayout::rows;
  std::optional<Generator> generator;
  std::optional<RandomStream> stream;
  MemoryBudget budget;  ///< the numbers given so far
};

/// Reads a lesson's [random] table, if it has one: whose random numbers its givens draw, and the
/// seed that the stream starts from.
void read_random(const toml::table& document, GivenContext& context, TomlReader& reader);

/// Reads one [[given]] table; nothing where it has a fault. Draws from the context's stream.
std::optional<Given> read_given(const toml::table& table, GivenContext& context,
                                TomlReader& reader);

/// Whether a name may be a given's or a step's: letters, digits and _, a letter first, parts joined
/// with dots.
bool is_name(std::string_view name);

/// The path of a file that a lesson in `directory` names. A lesson may come from a stranger, so it
/// reads regular files of its own directory and those below it only: no absolute path, no `..` and
/// no link that leads out. Throws InputError with what to do instead.
std::filesystem::path file_of_lesson(const std::filesystem::path& directory,
                                     const std::string& file);

/// Lets every lesson name any file. It is for the person who starts the program to say, so it holds
/// for the whole process.
void allow_outside_files();

}  // namespace qkv::inline lesson
