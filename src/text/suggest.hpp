#pragma once

#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace qkv::inline text {

/// Names in any container of strings, to which it refers.
struct NameViews : std::vector<std::string_view> {
  template <class Names>
  NameViews(const Names& names) : vector(std::begin(names), std::end(names)) {}  // NOLINT: implicit
  /// The names that `name` returns of each item: `NameViews(recipe.steps, &StepRecipe::name)`.
  template <class Items, class Name>
  NameViews(const Items& items, Name name) {
    add(items, name);
  }

  template <class Items, class Name>
  void add(const Items& items, Name name) {
    for (const auto& item : items) push_back(std::invoke(name, item));
  }
};

/// Returns the known name that `wanted` probably means, or an empty string. It is equal but for
/// capitals, about one edit per three characters away, or the only name that contains `wanted`. An
/// edit is a wrong, missing or extra letter, or two swapped. Searches the first 500 names, and only
/// for up to 500 bytes. Example: among "softmax" and "score", "sofmtax" means "softmax".
std::string suggest(std::string_view wanted, const NameViews& names);

/// Returns the remedy for an unknown name: `did you mean "softmax"?`. If no name is close, returns
/// `otherwise`, or by default `there are softmax, score`.
std::string did_you_mean(std::string_view wanted, const NameViews& names,
                         std::string_view otherwise = {});

/// Joins names with commas. Of more than 24 it lists 16 and the number of the rest.
std::string abbreviated_list(const NameViews& names);

}  // namespace qkv::inline text
