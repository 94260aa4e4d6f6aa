#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lesson/file/given.hpp"
#include "lesson/file/toml_reader.hpp"
#include "lesson/lesson.hpp"
#include "ops/operation.hpp"
#include "text/strings.hpp"
#include "trace/backward.hpp"
#include "trace/trace.hpp"

namespace qkv::inline lesson {

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
