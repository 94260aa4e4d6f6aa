#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lesson/file/toml.hpp"
#include "lesson/lesson.hpp"
#include "tensor/tensor.hpp"

namespace qkv {

/// Collects what is wrong with a TOML document while its parts are read one by one.
class TomlReader {
 public:
  explicit TomlReader(std::vector<Fault>& faults) : faults_(faults) {}

  static Place place(const toml::node& node);
  void fault(const toml::node& at, std::string message);

  /// A fault for every key of the table that is none of `known`, with the nearest one.
  void refuse_unknown_keys(const toml::table& table, std::span<const std::string_view> known,
                           std::string_view what);

  /// The value under `key`: nothing (and a fault where it is of another kind) unless it is there.
  std::optional<std::string> text(const toml::table& table, std::string_view key);
  std::optional<bool> flag(const toml::table& table, std::string_view key);
  std::optional<std::int64_t> whole(const toml::table& table, std::string_view key);
  std::optional<std::vector<std::string>> texts(const toml::table& table, std::string_view key);
  std::optional<Shape> shape(const toml::table& table, std::string_view key);
  Prose prose(const toml::table& table, std::string_view key);

  /// Nested arrays of numbers as they stand, each with its shortest digits. A fault where rows
  /// differ in length, and where something is no number.
  std::optional<Written> numbers(const toml::node& node, std::string_view name);

 private:
  template <class Value>
  std::optional<Value> one(const toml::table& table, std::string_view key, std::string_view wanted);
  bool collect(const toml::node& node, std::size_t depth, Written& into, std::string_view name);
  void mismatch(const toml::table& table, std::string_view key, std::string_view wanted);

  std::vector<Fault>& faults_;
};

}  // namespace qkv
