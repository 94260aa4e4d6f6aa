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

/// The names of givens and steps while a lesson file is read from the top.
class LessonNames {
 public:
  /// Registers all names in the file, for errors about use before definition.
  void declare(const toml::table& document);

  /// Adds a name that the file does not define itself: a model's.
  void add(const std::string& name);

  /// Returns the name of a [[given]] or [[step]] if it is valid and unused; otherwise adds a fault.
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

/// Reads a lesson's [backward] table; empty, with faults, if it is invalid.
std::optional<BackwardSpec> read_backward(const toml::table& table, TomlReader& reader);

/// Reads a single backward step: op = "backward" with of, through and to. Empty, with a fault, if
/// it is invalid.
std::optional<StepRecipe> read_backward_step(const toml::table& table, const std::string& name,
                                             std::vector<std::string> of, const Recipe& recipe,
                                             TomlReader& reader);

/// Reads an [[expect]] table; empty, with a fault, if it is invalid or its name is unknown.
std::optional<Expectation> read_expectation(const toml::table& table, const LessonNames& names,
                                            TomlReader& reader);

/// Returns where the trace differs from a published matrix; empty if it agrees. Example:
/// `scores[2,3] is 1.2345, published as 1.24 (page 7)`. The tolerance is half a unit of the last
/// printed digit (in e-notation: of each number's own); whole numbers are exact where the lesson's
/// are. Throws InputError if the matrix is not in the trace.
std::string disagreement(const Expectation& expectation, const Trace& trace);

/// Reads the options of a [[step]]'s operation, and the files that they name. Adds a fault for each
/// option that is missing, unknown or wrong.
Options read_step_options(const toml::table& table, const Operation& operation,
                          const GivenContext& context, TomlReader& reader);

/// Adds a fault for every key that is neither common to all steps nor this operation's own.
void refuse_unknown_step_keys(const toml::table& table, std::span<const std::string_view> own,
                              std::string_view operation, TomlReader& reader);

/// Reads the prose of a step's table, which has a name; adds faults for what can't be read.
StepText read_step_text(const toml::table& table, TomlReader& reader);

}  // namespace qkv::inline lesson
