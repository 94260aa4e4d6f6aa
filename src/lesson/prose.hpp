#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.hpp"

namespace qkv::inline lesson {

/// A piece of a lesson's prose: text, or a live number with its requested decimals.
struct ProsePiece {
  std::string text = {};
  std::optional<double> number = {};
  std::optional<int> digits = {};
};

/// Splits prose and looks up its braces in the trace:
/// {scores.shape}, {scores[cat,fat]}, {d_k}; statistics of a matrix, row or column:
/// {scores.spread}, {A[cat,*].entropy}; the next token by the last row of a weight matrix:
/// {probabilities.likeliest}. {scores[1,2]:2} sets the decimals, {cells[1,1]:,} groups thousands.
/// {probabilities.likeliest with scores[1,2]=0} applies changes as --set does, joined by " and ".
/// {{ is a brace. Names that are absent, such as a replaced word of the text, become a dash. Marks
/// (see still_true) become nothing.
std::vector<ProsePiece> pieces_of(std::string_view prose, const Trace& trace);

/// Returns the prose that still holds after the lesson's numbers changed. Prose behind {any}, or at
/// the start if `any` is set, holds for any numbers; behind {own W_Q} while `is_own` is true of
/// W_Q; behind {own} for the original numbers only. A mark applies up to the next mark or the end
/// of its paragraph. Pieces with braces that `now` lacks are left out. Empty if nothing remains.
std::string still_true(std::string_view prose, bool any, const Trace& now,
                       const std::function<bool(const std::string&)>& is_own);

/// Returns the names that braces look up, without cell, size or statistic ("scores", "d_k"), and
/// those in marks.
std::vector<std::string> names_in(std::string_view prose);

/// A brace that can't be looked up, with the reason; prose_faults returns all of them.
struct ProseFault {
  std::size_t offset = 0;  ///< position of the brace in the prose
  std::string message;
};
std::vector<ProseFault> prose_faults(std::string_view prose, const Trace& trace);

/// A statistic that prose may quote of a matrix. Masked numbers (-inf) are ignored.
struct Statistic {
  std::string_view name;
  std::string_view says;
  double (*of)(std::span<const double> numbers) = nullptr;
  /// For a whole matrix: the mean over its rows, not one value of all its numbers.
  bool by_row = false;
};

/// Returns all statistics, in the order of messages: max, min, sum, mean, spread (standard
/// deviation), entropy (of weights, in nats; for a matrix the mean of its rows), slope (softmax's
/// steepest, the largest p(1 − p) of the weights p).
std::span<const Statistic> statistics();

/// Returns nullptr if there is no such statistic.
const Statistic* find_statistic(std::string_view name);

/// Returns the statistic of a matrix `scores`, row `scores[cat,*]`, column `scores[*,2]` or head
/// `scores[head 2,*,*]`. Throws InputError if the trace has no such part.
double statistic_of(const Statistic& statistic, std::string_view of, const Trace& trace);

}  // namespace qkv::inline lesson
