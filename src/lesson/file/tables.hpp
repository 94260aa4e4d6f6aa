#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "formats/files/read_file.hpp"
#include "lesson/file/toml_reader.hpp"
#include "lesson/lesson.hpp"
#include "ops/operation.hpp"
#include "tensor/random.hpp"
#include "tensor/resources.hpp"
#include "text/strings.hpp"
#include "trace/evaluate.hpp"
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

/// The names of givens and steps, while a lesson file is read from the top.
class LessonNames {
 public:
  /// Registers all names in the file, for errors about use before definition.
  void declare(const toml::table& document);

  /// Adds a name that is not in the file: one of a model.
  void add(const std::string& name);

  /// Returns the name of a [[given]] or [[step]]; adds a fault if it is invalid or already used.
  std::optional<std::string> take(const toml::table& table, std::string_view what,
                                  TomlReader& reader);

  /// Adds a fault if the name is not defined above.
  void require(const toml::node& at, const std::string& name, TomlReader& reader) const;

  bool is_defined(const std::string& name) const { return met_.contains(name); }
  bool is_declared(const std::string& name) const { return all_.contains(name); }

 private:
  NameIndex all_;
  NameIndex met_;
};

/// Reads a lesson's [backward] table; nothing, and faults, if it is invalid.
std::optional<BackwardSpec> read_backward(const toml::table& table, TomlReader& reader);

/// Reads one step of a backward pass (op = "backward" with of, through and to). Nothing, and a
/// fault, if it is invalid.
std::optional<StepRecipe> read_backward_step(const toml::table& table, const std::string& name,
                                             std::vector<std::string> of, const Recipe& recipe,
                                             TomlReader& reader);

/// Reads an [[expect]] table; nothing, and a fault, if it is invalid or its name is unknown.
std::optional<Expectation> read_expectation(const toml::table& table, const LessonNames& names,
                                            TomlReader& reader);

/// Describes where the trace does not reproduce a published matrix to its printed digits; empty if
/// it does. The tolerance is half a unit of the last digit in the matrix; in e-notation, in the
/// number. Integers must be exact if the lesson's are integers. Throws InputError if the matrix is
/// not in the trace. Example: `scores[2,3] is 1.2345, published as 1.24 (page 7)`.
std::string disagreement(const Expectation& expectation, const Trace& trace);

/// Reads the options of a [[step]]'s operation, with the files that they name. Adds a fault for
/// each that is missing, unknown or invalid.
Options read_step_options(const toml::table& table, const Operation& operation,
                          const GivenContext& context, TomlReader& reader);

/// Reads the prose and display settings of a [[step]]. Adds faults for what is invalid.
StepText read_step_text(const toml::table& table, TomlReader& reader);

}  // namespace qkv::inline lesson
