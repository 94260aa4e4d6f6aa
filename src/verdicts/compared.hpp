#pragma once

#include <string>

#include "check/compare/compare.hpp"

namespace qkv {

/// How a comparison looks on this terminal.
struct CompareLook {
  std::size_t width = 80;
  /// What to type to find out which known mistake makes such numbers; empty where nothing can.
  std::string check_command = {};
};

/// A line for each step, what the tolerance was, and the first step that differs as
/// numpy.testing.assert_allclose reports it.
std::string compared_text(const Comparison& comparison, const Side& actual, const Side& desired,
                          const CompareLook& look);

/// The same as JSON. Indices of its cells count from 0, as NumPy's do.
std::string compared_json(const Comparison& comparison, const Side& actual, const Side& desired);

}  // namespace qkv
