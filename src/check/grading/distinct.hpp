#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.hpp"

namespace qkv {

/// A known mistake that a lesson's numbers do not show, or not apart from another one.
struct Indistinct {
  std::string step;
  std::string_view id;     ///< of the mistake
  std::string_view other;  ///< of the one that gives the same numbers; empty: the right ones
};

/// The mistakes of every step's operation that, made on the lesson's own numbers, give the step's
/// right numbers, or those of another mistake, to within `unit` in every cell. Each pair once, in
/// the order of the steps; a mistake that comes in several forms counts where any form of it does.
std::vector<Indistinct> indistinct_mistakes(const Trace& trace, double unit);

/// Only those that give the right numbers.
std::vector<Indistinct> invisible_mistakes(const Trace& trace, double unit);

}  // namespace qkv
