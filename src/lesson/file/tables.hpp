#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "lesson/file/toml_reader.hpp"
#include "text/names.hpp"

namespace qkv {

/// The names of a lesson's givens and steps while its file is read from above.
class LessonNames {
 public:
  /// Takes note of every name of the file, so that a step can be told what comes too late.
  void foresee(const toml::table& document);

  /// One that the file does not say itself: a model's.
  void add(const std::string& name);

  /// The name of a [[given]] or a [[step]], if it has a good one that is still free; else a fault.
  std::optional<std::string> take(const toml::table& table, std::string_view what,
                                  TomlReader& reader);

  /// A fault where nothing above has the name.
  void require(const toml::node& at, const std::string& name, TomlReader& reader) const;

  bool is_met(const std::string& name) const { return met_.contains(name); }
  bool is_foreseen(const std::string& name) const { return all_.contains(name); }

 private:
  Names all_;
  Names met_;
};

}  // namespace qkv
