#pragma once

#include <array>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace qkv::inline ops {

/// From which to which, both included, counted from 1.
using OptionSpan = std::array<double, 2>;

using OptionValue = std::variant<bool, double, std::string, OptionSpan>;

/// One option of an operation: its name, what it may be, and what it is by itself.
struct OptionRule {
  /// What a word written for the option may be.
  enum class Words { none, listed, any };
  enum class Numbers { none, any, whole, positive, not_negative };

  std::string_view name;
  std::string_view says;                        ///< what it chooses, for messages and help
  std::span<const std::string_view> list = {};  ///< the words it may be, where they are listed
  Words words = Words::none;
  Numbers numbers = Numbers::none;
  bool turns = false;  ///< "rows" or "columns" as the file's matrices are written: Convention
  bool flag = false;   ///< may be true or false
  bool span = false;   ///< is [from, to], counted from 1
  /// The option that it is where tokens are columns, since it is called as the file's matrices are.
  std::string_view turned_name = {};
  bool required = false;
  bool file = false;  ///< names a file, whose contents the operation reads
};

/// The options that a step was given, checked against its operation's rules.
class Options {
 public:
  void set(std::string name, OptionValue value) { values_[std::move(name)] = std::move(value); }
  /// What `written` has under one name becomes this one's under the other; nothing becomes nothing.
  void rename(const Options& written, std::string_view from, std::string_view to);
  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  bool flag(std::string_view name, bool otherwise) const;
  double number(std::string_view name, double otherwise) const;
  std::string_view word(std::string_view name, std::string_view otherwise) const;
  const OptionValue* find(std::string_view name) const;
  /// The number that is written for the option; nullptr where there is none, or a word.
  const double* if_number(std::string_view name) const;
  /// What is in the file that the option names; empty where it names none.
  std::string_view contents(std::string_view name) const;
  void set_contents(std::string name, std::string bytes);
  const std::map<std::string, OptionValue, std::less<>>& all() const { return values_; }

 private:
  std::map<std::string, OptionValue, std::less<>> values_;
  std::map<std::string, std::shared_ptr<const std::string>, std::less<>> contents_;
};

/// What may be written for the option: `"in-out" or "out-in"`.
std::string choices(const OptionRule& rule);

/// Says in words what is wrong with `value` for this option; empty where nothing is.
/// Example: `layout is "in-out" or "out-in", not "inout"`.
std::string complaint(const OptionRule& rule, const OptionValue& value);

}  // namespace qkv::inline ops
