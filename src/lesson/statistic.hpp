#pragma once

#include <span>
#include <string>
#include <string_view>

#include "trace/trace.hpp"

namespace qkv {

/// One number that sums up many: what prose may say of a matrix. Hidden numbers (-inf) have no say.
struct Statistic {
  std::string_view name;
  std::string_view says;
  double (*of)(std::span<const double> numbers) = nullptr;
  /// Of a whole matrix: the mean of what the rows give, not what all its numbers give together.
  bool by_row = false;
};

/// All of them, in the order in which messages list them: max, min, sum, mean, spread (the standard
/// deviation), entropy (of weights, in nats; a whole matrix has its rows' mean), slope (softmax's
/// steepest, the largest p(1 − p) of the weights p).
std::span<const Statistic> statistics();

/// nullptr where there is none of that name.
const Statistic* find_statistic(std::string_view name);

/// The statistic of what `of` names: `scores` is all of it, `scores[cat,*]` a row, `scores[*,2]` a
/// column, `scores[head 2,*,*]` one head. Throws InputError where the trace has no such part.
double statistic_of(const Statistic& statistic, std::string_view of, const Trace& trace);

}  // namespace qkv
