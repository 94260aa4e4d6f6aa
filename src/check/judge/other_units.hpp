#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.hpp"

namespace qkv {

/// The lesson in units that are as good: its log-sum-exps to base 2, its loss added up where the
/// mean is due, or the reverse.
struct OtherUnits {
  std::string_view id;               ///< the convention's
  Recipe recipe;                     ///< without the givens
  std::vector<std::string> changed;  ///< whose numbers are others
  /// What goes on from those: where there are any, one of them must be there and follow. A loss by
  /// itself that was added up is a mistake.
  std::vector<std::string> following = {};
  bool must_be_followed = false;
};

/// All such lessons.
std::vector<OtherUnits> in_other_units(const Recipe& recipe);

}  // namespace qkv
