#include "check/submissions.hpp"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <sstream>

#include "formats/handwork/csv.hpp"
#include "trace/trace.hpp"

namespace qkv::test {

Task::Task(const std::string& toml) {
  ParsedLesson reading = read_lesson(toml, "test.toml", {});
  REQUIRE(reading.faults.empty());
  lesson = std::move(reading.lesson);
  trace = evaluate(lesson.recipe);
}

const Task& two_words() {
  static const Task task(R"(
tokens = ["no", "fear"]
[[given]]
name  = "X"
value = [[1, 2], [3, 1]]
[[given]]
name  = "W_Q"
value = [[1, 0], [2, 1]]
[[given]]
name  = "W_K"
value = [[0.5, 1], [0, 0.3]]
[[given]]
name  = "W_V"
value = [[2, 0], [1, 5]]
[[step]]
name = "Q"
op   = "project"
of   = ["X", "W_Q"]
[[step]]
name = "K"
op   = "project"
of   = ["X", "W_K"]
[[step]]
name = "V"
op   = "project"
of   = ["X", "W_V"]
[[step]]
name = "scores"
op   = "score"
of   = ["Q", "K"]
[[step]]
name = "scaled_scores"
op   = "scale"
of   = ["scores"]
[[step]]
name = "masked_scores"
op   = "mask"
of   = ["scaled_scores"]
kind = "causal"
[[step]]
name = "attention_weights"
op   = "softmax"
of   = ["masked_scores"]
[[step]]
name = "context"
op   = "weighted_sum"
of   = ["attention_weights", "V"]
)");
  return task;
}

Submission submission_of(const Texts& texts, const Trace& trace) {
  Submission submission{.name = "work", .files = {}, .notes = {}, .list = {}};
  for (const auto& [name, text] : texts) {
    const Tensor& tensor = trace.at(name);
    submission.files.push_back(
        {.file = name + ".csv",
         .name = name,
         .leading = {},
         .written = read_csv(text, name + ".csv",
                             {.expected = std::array{tensor.rows(), tensor.columns()},
                              .on_bad_cell = OnBadCell::kept})});
  }
  return submission;
}

CheckReport checked(const Task& task, const Texts& texts, const CheckOptions& options) {
  return check_submission(task.lesson, task.trace, submission_of(texts, task.trace), options);
}

std::string verdicts(const CheckReport& report, std::string_view step) {
  constexpr std::string_view letters = "crauwb";
  for (const StepReport& one : report.steps) {
    if (one.step != step) continue;
    if (one.verdict == Verdict::shape) return "shape";
    std::string text;
    for (std::size_t i = 0; i < one.verdicts.size(); ++i) {
      if (i > 0 && i % one.written.columns() == 0) text += ' ';
      text += letters[static_cast<std::size_t>(one.verdicts[i])];
    }
    return text;
  }
  return "not listed";
}

std::string mistakes(const CheckReport& report, std::string_view step) {
  std::string text;
  for (const StepReport& one : report.steps) {
    if (one.step != step) continue;
    for (const Diagnosis& mistake : one.mistakes) {
      text += (text.empty() ? "" : " ") + std::string(mistake.id);
    }
  }
  return text;
}

std::string csv_of(const Tensor& tensor, int decimals) {
  std::string text;
  for (std::size_t i = 0; i < tensor.values.size(); ++i) {
    text += fmt::format("{:.{}f}", tensor.values[i], decimals);
    text += (i + 1) % tensor.columns() == 0 ? "\n" : ",";
  }
  return text;
}

}  // namespace qkv::test
