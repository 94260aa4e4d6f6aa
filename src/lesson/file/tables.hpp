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

/// The names of a lesson's givens and steps while its file is read from above.
class LessonNames {
 public:
  /// Takes note of every name of the file, so that a step can be told what comes too late.
  void declare(const toml::table& document);

  /// One that the file does not say itself: a model's.
  void add(const std::string& name);

  /// The name of a [[given]] or a [[step]], if it has a good one that is still free; else a fault.
  std::optional<std::string> take(const toml::table& table, std::string_view what,
                                  TomlReader& reader);

  /// A fault where nothing above has the name.
  void require(const toml::node& at, const std::string& name, TomlReader& reader) const;

  bool is_defined(const std::string& name) const { return met_.contains(name); }
  bool is_declared(const std::string& name) const { return all_.contains(name); }

 private:
  NameIndex all_;
  NameIndex met_;
};

/// A lesson's [backward]; nothing, and faults, where it can't be understood.
std::optional<BackwardSpec> read_backward(const toml::table& table, TomlReader& reader);

/// A step that goes back through another by itself: op = "backward" with of, through and to.
/// Nothing, and a fault, where it can't.
std::optional<StepRecipe> read_backward_step(const toml::table& table, const std::string& name,
                                             std::vector<std::string> of, const Recipe& recipe,
                                             TomlReader& reader);

/// Reads an [[expect]] table; nothing, and a fault, where it is wrong or nothing has that name.
std::optional<Expectation> read_expectation(const toml::table& table, const LessonNames& names,
                                            TomlReader& reader);

/// Says where the trace does not reproduce a published matrix to its printed digits (half a unit of
/// the last digit printed in it; in e-notation, in that number; whole numbers exactly where the
/// lesson's are whole); empty where it does. Throws InputError where the matrix is not in the
/// trace. Example: `scores[2,3] is 1.2345, published as 1.24 (page 7)`.
std::string disagreement(const Expectation& expectation, const Trace& trace);

/// Reads what a [[step]] says beside its name, words and operands: the options of its operation,
/// with the files that they name. A fault for each that is missing, unknown or wrong.
Options read_step_options(const toml::table& table, const Operation& operation,
                          const GivenContext& context, TomlReader& reader);

/// A fault for every key that neither all steps have nor this operation's.
void refuse_unknown_step_keys(const toml::table& table, std::span<const std::string_view> own,
                              std::string_view operation, TomlReader& reader);

/// What a lesson's table says about a step, its name being there; faults where it can't be read.
StepText read_step_text(const toml::table& table, TomlReader& reader);

}  // namespace qkv::inline lesson
