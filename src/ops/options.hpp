#pragma once

#include <array>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace qkv::inline ops {

/// The first and the last index, both included, counted from 1.
using OptionSpan = std::array<double, 2>;

using OptionValue = std::variant<bool, double, std::string, OptionSpan>;

/// One option of an operation: its name and its permitted values.
struct OptionRule {
  /// Which words the option accepts.
  enum class Words { none, listed, any };
  enum class Numbers { none, any, whole, positive, not_negative };

  std::string_view name;
  std::string_view help;                        ///< what it chooses, for messages and help
  std::span<const std::string_view> list = {};  ///< the permitted words, if they are listed
  Words words = Words::none;
  Numbers numbers = Numbers::none;
  bool swaps_with_layout = false;  ///< "rows" or "columns", which swap if tokens are columns
  bool flag = false;               ///< may be true or false
  bool span = false;               ///< is [from, to], counted from 1
  /// The option that it swaps with if tokens are columns: its name follows the file's matrices.
  std::string_view swapped_name = {};
  bool required = false;
  bool file = false;  ///< names a file that the operation reads
};

/// A step's options, checked against its operation's rules.
class Options {
 public:
  /// Returns options with one entry.
  static Options of(std::string_view name, OptionValue value);
  void set(std::string name, OptionValue value) { values_[std::move(name)] = std::move(value); }
  /// Sets `to` to the value of `from` in `written`; removes `to` if `written` has no `from`.
  void rename(const Options& written, std::string_view from, std::string_view to);
  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  bool flag(std::string_view name, bool otherwise) const;
  double number(std::string_view name, double otherwise) const;
  std::string_view word(std::string_view name, std::string_view otherwise) const;
  const OptionValue* find(std::string_view name) const;
  /// Returns the option's number; nullptr if it is missing or no number.
  const double* if_number(std::string_view name) const;
  /// Returns the contents of the file that the option names; empty if it names none.
  std::string_view contents(std::string_view name) const;
  void set_contents(std::string name, std::string bytes);
  const std::map<std::string, OptionValue, std::less<>>& all() const { return values_; }

 private:
  std::map<std::string, OptionValue, std::less<>> values_;
  std::map<std::string, std::shared_ptr<const std::string>, std::less<>> contents_;
};

/// Returns the permitted values in words: `"in-out" or "out-in"`.
std::string choices(const OptionRule& rule);

/// Returns what is wrong with `value` for this option; empty if nothing is.
/// Example: `layout is "in-out" or "out-in", not "inout"`.
std::string complaint(const OptionRule& rule, const OptionValue& value);

}  // namespace qkv::inline ops
