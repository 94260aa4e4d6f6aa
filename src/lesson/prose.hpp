#pragma once

#include "trace/trace.hpp"

namespace qkv::inline lesson {

/// A piece of a lesson's prose: text, or a live number and its decimals.
struct ProsePiece {
  std::string text = {};
  std::optional<double> number = {};
  std::optional<int> digits = {};
};

/// Replaces braces in prose by values from the trace: {scores.shape}, {scores[cat,fat]}, {d_k}.
/// Also by statistics of a matrix, row or column ({scores.spread}, {A[cat,*].entropy}), and by the
/// most likely token of the last row ({probabilities.likeliest}). A suffix sets decimals,
/// {scores[1,2]:2}, or an integer with grouped digits, {cells[1,1]:,}. "with" gives the value after
/// changes as by --set, joined by " and ": {probabilities.likeliest with scores[1,2]=0}. {{ is a
/// brace. A missing value (another text lacks the word) becomes a dash. Marks (still_true) are
/// removed.
std::vector<ProsePiece> pieces_of(std::string_view prose, const Trace& trace);

/// Returns the prose that still holds after a lesson's numbers were changed. Prose after {any}, or
/// at the start if `any` is set, holds for any numbers. Prose after {own W_Q} holds while `is_own`
/// says that W_Q is unchanged; after {own}, only for the lesson's own numbers. A mark applies up to
/// the end of the paragraph or the next mark. Pieces whose braces find nothing in `now` are
/// removed: they describe another text. Empty if nothing remains.
std::string still_true(std::string_view prose, bool any, const Trace& now,
                       const std::function<bool(const std::string&)>& is_own);

/// Returns the names in the prose's braces, without cell, size or statistic ("scores", "d_k"), and
/// those in its marks.
std::vector<std::string> names_in(std::string_view prose);

/// An error message for a brace in prose that cannot be looked up.
struct ProseFault {
  std::size_t offset = 0;  ///< of the brace in the prose
  std::string message;
  std::string matrix = {};  ///< the unknown name, if the brace asks for a part of it
};
std::vector<ProseFault> prose_faults(std::string_view prose, const Trace& trace);

/// A statistic of a matrix that prose may use. Masked numbers (-inf) are ignored.
struct Statistic {
  std::string_view name;
  double (*of)(std::span<const double> numbers) = nullptr;
  /// For a whole matrix: the mean of the rows' values, not the value of all numbers together.
  bool by_row = false;
};

/// Returns the statistic of that name, or nullptr: max, min, sum, mean, spread (standard
/// deviation), entropy (of weights, in nats; for a matrix the mean of its rows), slope (the largest
/// slope of softmax: max p(1 − p) over the weights p).
const Statistic* find_statistic(std::string_view name);

}  // namespace qkv::inline lesson
