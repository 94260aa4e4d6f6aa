#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.hpp"

namespace qkv {

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
/// {cells[1,1]:,}; {{ is a brace. What is not there (a word of the lesson's own text, with another
/// one in its place) becomes a dash.
std::vector<ProsePiece> pieces_of(std::string_view prose, const Trace& trace);

/// What the prose's braces look up, each before its cell, size or statistic: "scores", "d_k".
std::vector<std::string> names_in(std::string_view prose);

/// What is wrong with each brace of the prose that can't be looked up; empty where all can.
struct ProseFault {
  std::size_t offset = 0;  ///< of the brace in the prose
  std::string message;
};
std::vector<ProseFault> prose_faults(std::string_view prose, const Trace& trace);

}  // namespace qkv
