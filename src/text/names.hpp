#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkv {

/// Names in the order in which they came. Each is found as quickly among ten thousand as among ten:
/// a lesson may have that many steps, and every one of them looks for its operands.
class Names {
 public:
  /// Appends a name; the first of two equal ones is the one that is found.
  void add(std::string name);
  /// Its place in the order, from 0; nothing where it never came.
  std::optional<std::size_t> place(std::string_view name) const;
  bool contains(std::string_view name) const { return places_.contains(name); }
  const std::vector<std::string>& all() const { return all_; }

 private:
  std::vector<std::string> all_;
  std::map<std::string, std::size_t, std::less<>> places_;
};

}  // namespace qkv
