#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "check/judge/judge.hpp"

namespace qkv {

/// A known mistake that makes the learner's wrong numbers.
struct Diagnosis {
  std::string_view id;
  std::string says;
  std::string_view hint;
  std::size_t cells = 0;  ///< how many wrong cells it explains
  bool sure = true;       ///< not one of several that it could be
};

/// The mistakes that explain the wrong cells of a node, or its wrong shape, best first; empty where
/// no known mistake makes these numbers.
std::vector<Diagnosis> diagnose(const Judgement& judgement, const Trace& trace, std::size_t node);

/// Every id that diagnose can name outside the operations' own: the slips of the pen.
std::vector<std::string_view> slip_ids();

}  // namespace qkv
