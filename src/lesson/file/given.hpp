#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "formats/files/manifest.hpp"
#include "lesson/file/toml_reader.hpp"
#include "tensor/memory.hpp"
#include "tensor/random.hpp"
#include "trace/trace.hpp"

namespace qkv::inline lesson {

/// State shared by the [[given]] tables of a lesson, read in file order.
struct GivenContext {
  std::filesystem::path directory;
  TokenLayout token_layout = TokenLayout::rows;
  std::optional<Generator> generator;
  std::optional<RandomStream> stream;
  MemoryBudget budget;  ///< for the numbers read so far
  ManifestCache manifests = {};
};

/// Reads a lesson's [random] table, if any: the generator of random givens, and its seed.
void read_random(const toml::table& document, GivenContext& context, TomlReader& reader);

/// Reads one [[given]] table; nothing if it has a fault. Draws from the context's stream.
std::optional<Given> read_given(const toml::table& table, GivenContext& context,
                                TomlReader& reader);

/// True if a given or step may have this name: letters, digits and _, a letter first, parts joined
/// with dots.
bool is_name(std::string_view name);

/// Returns the path of a file that a lesson in `directory` names. Since lessons may be untrusted,
/// only regular files in that directory or below are allowed: no absolute path, no `..`, no link
/// that leads out. Throws InputError with what to do instead.
std::filesystem::path file_of_lesson(const std::filesystem::path& directory,
                                     const std::string& file);

/// Allows every lesson to name any file, for the whole process: only the user may decide so.
void allow_outside_files();

}  // namespace qkv::inline lesson
