#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "check/judge/learner.hpp"

namespace qkv {

struct CheckOptions {
  std::optional<int> digits = {};
  bool strict = false;     ///< conventions are wrong, too
  bool gradients = false;  ///< tell the way back apart from the way there
  /// Told of each of the lesson's matrices twice: when it is judged, and when it is reported.
  std::function<void()> on_matrix = {};
};

/// Judges the matrices against the lesson; gives up where as many cells as `too_many` are wrong.
/// `trace` and `handed` must outlive the result.
Judgement judge(const Trace& trace, const std::vector<Handed>& handed, const CheckOptions& options,
                std::size_t too_many = std::numeric_limits<std::size_t>::max());

}  // namespace qkv
