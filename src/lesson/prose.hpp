#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.hpp"

namespace qkv::inline lesson {

/// A stretch of a lesson's prose: words, or a live number with the decimals it asks for.
struct ProsePiece {
  std::string text = {};
  std::optional<double> number = {};
  std::optional<int> digits = {};
};

/// The prose with its braces looked up in the trace: {scores.shape}, {scores[cat,fat]}, {d_k}, and
/// what statistic.hpp knows of a matrix, a row or a column: {scores.spread}, {A[cat,*].entropy};
/// and what comes next by the last row of a matrix of weights: {probabilities.likeliest}. Each with
/// a number of decimals if wanted, {scores[1,2]:2}, or as a whole number with its thousands apart,
/// {cells[1,1]:,}; and what it would be if something were changed as --set does, with " and "
/// between several changes: {probabilities.likeliest with scores[1,2]=0}; {{ is a brace. What is
/// not there (a word of the lesson's own text, with another one in its place) becomes a dash. Its
/// marks (still_true) leave nothing.
std::vector<ProsePiece> pieces_of(std::string_view prose, const Trace& trace);

/// The part of the prose that is still true of a lesson whose numbers are others by now: what
/// stands behind {any}, or where `any` is set at its start, holds of any numbers; what stands
/// behind {own W_Q} as long as `is_own` says that W_Q is what it was; what stands behind {own} of
/// the lesson's own numbers alone. A stretch ends with its paragraph or at the next mark; one whose
/// braces find nothing in `now` is left out: its words are of another text. Empty where nothing
/// remains.
std::string still_true(std::string_view prose, bool any, const Trace& now,
                       const std::function<bool(const std::string&)>& is_own);

/// What the prose's braces look up, each before its cell, size or statistic: "scores", "d_k"; and
/// what its marks name.
std::vector<std::string> names_in(std::string_view prose);

/// What is wrong with each brace of the prose that can't be looked up; empty where all can.
struct ProseFault {
  std::size_t offset = 0;  ///< of the brace in the prose
  std::string message;
};
std::vector<ProseFault> prose_faults(std::string_view prose, const Trace& trace);

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

}  // namespace qkv::inline lesson
