#pragma once

#include <filesystem>
#include <optional>

#include "lesson/file/toml_reader.hpp"
#include "tensor/memory.hpp"
#include "tensor/random.hpp"
#include "trace/recipe.hpp"

namespace qkv {

/// What the [[given]] tables of one lesson share while they are read in file order.
struct GivenContext {
  std::filesystem::path directory;
  Convention convention = Convention::rows;
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

}  // namespace qkv
