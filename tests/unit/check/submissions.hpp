#pragma once

#include <map>
#include <string>
#include <string_view>

#include "check/check.hpp"

/// Small lessons and what somebody handed in for them, without files.
namespace qkv::test {

/// A lesson from its TOML, worked out. Fails the test where it has a fault.
struct Task {
  explicit Task(const std::string& toml);
  Lesson lesson;
  Trace trace;
};

/// A lesson of two words: X, W_Q, W_K, W_V with d_k = 2, then Q, K, V, scores, scaled_scores,
/// masked_scores, attention_weights, context.
const Task& two_words();

/// What was handed in: a text for each step or given, as it would stand in its CSV file.
using Texts = std::map<std::string, std::string>;

Submission submission_of(const Texts& texts, const Trace& trace);

/// Checks the texts as CSV files.
CheckReport checked(const Task& task, const Texts& texts, const CheckOptions& options = {});

/// The step's verdicts, row by row, a letter each: c correct, r rounding, a carried, u undecided, w
/// wrong, b blank; "shape" for a wrong shape, "not listed" where the report has no such step.
std::string verdicts(const CheckReport& report, std::string_view step);

/// The ids named for a step, with spaces between.
std::string mistakes(const CheckReport& report, std::string_view step);

/// A tensor's only matrix as CSV with so many decimals.
std::string csv_of(const Tensor& tensor, int decimals);

}  // namespace qkv::test
