#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "check/diagnose/hypothesis.hpp"
#include "check/submissions.hpp"
#include "lesson/library.hpp"
#include "ops/operation.hpp"

namespace check_mistakes_tests {

/// Laws of the check, over every operation and every mistake of small lessons.

namespace {

using namespace qkv;
using namespace qkv::test;

constexpr const char* small_lessons[] = {
    "the-fat-cat", "two-heads",        "toy-attention",
    "projections", "one-row-all",      "causal",
    "batches",     "masked-attention", "fluffy-blue-creature",
    "mole",        "cross-attention",  QKV_TEST_LESSONS "/good/every-other-operation.toml"};

SubmittedFile submitted_file(const std::string& name, const Tensor& tensor,
                             TokenLayout token_layout, int decimals) {
  const Tensor shown = as_shown(tensor, token_layout);
  SubmittedFile file{.file = name + ".json", .name = name, .leading = {}, .written = {}};
  file.written.shape = shown.shape();
  for (const double x : shown.values) {
    file.written.cells.to_write().push_back(
        {.value = x, .decimals = static_cast<std::int16_t>(decimals)});
  }
  return file;
}

// Everything before the step right to the last digit, and the step as somebody got it.
Submission work_with(const LoadedLesson& loaded, const Step& step, const Tensor& numbers) {
  constexpr int all_digits = 15;
  Submission work{.name = "work", .files = {}, .notes = {}, .list = {}};
  const TokenLayout token_layout = loaded.trace.token_layout;
  for (const Step& one : loaded.trace.steps) {
    const Tensor& tensor = &one == &step ? numbers : one.output;
    work.files.push_back(submitted_file(one.name, tensor, token_layout, all_digits));
    if (&one == &step) break;
  }
  return work;
}

double largest(const Tensor& tensor) {
  double most = 1;
  for (const double x : tensor.values) {
    if (std::isfinite(x)) most = std::max(most, std::abs(x));
  }
  return most;
}

// 0 and infinity prove nothing, but of a mask.
bool is_proof(std::string_view id, double x) {
  return id.starts_with("mask.") || (std::isfinite(x) && x != 0);
}

// Whether a learner could have written these numbers, and they tell themselves from the right ones.
bool shows(std::string_view id, const Tensor& numbers, const Tensor& right) {
  const bool any_nan = std::any_of(numbers.values.begin(), numbers.values.end(),
                                   [](double x) { return std::isnan(x); });
  if (any_nan || numbers.shape() != right.shape()) return false;
  const double clear = 1e-3 * std::max(largest(numbers), largest(right));
  for (std::size_t i = 0; i < right.values.size(); ++i) {
    if (is_proof(id, numbers.values[i]) && numbers.values[i] != right.values[i] &&
        !(std::abs(numbers.values[i] - right.values[i]) <= clear)) {
      return true;
    }
  }
  return false;
}

bool is_named(const CheckReport& report, const Step& step, std::string_view id) {
  if (report.first_wrong != step.name) return false;
  const std::string ids = " " + mistakes(report, step.name) + " ";
  return ids.find(" " + std::string(id) + " ") != std::string::npos;
}

// Of one matrix or two, the mistake may look more like tokens that lie the other way round.
bool is_taken_as(const CheckReport& report, std::string_view convention) {
  return std::any_of(report.steps.begin(), report.steps.end(), [&](const StepReport& step) {
    return step.accepted_convention == convention;
  });
}

// The numbers of one matrix can't tell the mistake from a convention: another layout, or as many
// heads as rows.
bool is_taken_as_meant(const CheckReport& report) {
  return is_taken_as(report, "convention.columns") ||
         is_taken_as(report, "convention.heads-inside");
}

TEST_CASE("whoever makes a known mistake is told so", "[thorough]") {
  std::set<std::string_view> tried;
  for (const char* name : small_lessons) {
    const LoadedLesson loaded = load_lesson(name);
    const Judgement untouched = judge(loaded.trace, {}, {});
    const std::size_t givens = loaded.trace.givens.size();
    for (std::size_t s = 0; s < loaded.trace.steps.size(); ++s) {
      const Step& step = loaded.trace.steps[s];
      const Hypothesis hypothesis(untouched, loaded.trace);
      const std::vector<StepView> sources = hypothesis.sources();
      for (const Mistake& mistake : step.operation->mistakes) {
        CHECK(mistake.hint.find('{') == std::string_view::npos);  // nothing is put in there
        for (const Tensor& numbers : versions_of(mistake.change, sources[givens + s])) {
          if (!shows(mistake.id, numbers, step.output)) continue;
          INFO(name << ": " << step.name << ": " << mistake.id);
          tried.insert(mistake.id);
          const Submission work = work_with(loaded, step, numbers);
          const CheckReport report = check_submission(loaded.lesson, loaded.trace, work, {});
          CHECK((is_named(report, step, mistake.id) || is_taken_as_meant(report)));
        }
      }
    }
  }
  CAPTURE(tried);
  CHECK(tried.size() >= 52);  // of the ids that the operations know
}

TEST_CASE("tokens before the heads are a convention, and with --strict a transposed matrix") {
  std::size_t tried = 0;
  for (const char* name : {"two-heads", "batches"}) {
    const LoadedLesson loaded = load_lesson(name);
    for (const Step& step : loaded.trace.steps) {
      const Tensor& right = step.output;
      if (right.rank() < 3 || right.axes[right.rank() - 3].name == "batch") continue;
      const std::size_t heads = right.axes[right.rank() - 3].size;
      if (heads < 2) continue;
      Tensor numbers = right;
      std::swap(numbers.axes[right.rank() - 3], numbers.axes[right.rank() - 2]);
      std::size_t next = 0;
      for (std::size_t first = 0; first < right.matrices(); first += heads) {
        for (std::size_t row = 0; row < right.rows(); ++row) {
          for (std::size_t head = first; head < first + heads; ++head) {
            for (std::size_t column = 0; column < right.columns(); ++column) {
              numbers.values.mutable_span()[next++] = right.at(head, row, column);
            }
          }
        }
      }
      INFO(name << ": " << step.name);
      const Submission work = work_with(loaded, step, numbers);
      const CheckReport report = check_submission(loaded.lesson, loaded.trace, work, {});
      // One among others of as many heads as rows is a slip: their sizes don't tell.
      const bool taken = is_taken_as(report, "convention.heads-inside");
      CHECK((taken || (heads == right.rows() && is_named(report, step, "slip.transposed"))));
      CHECK((report.outcome == Outcome::wrong) != taken);
      CHECK(is_named(check_submission(loaded.lesson, loaded.trace, work, {.strict = true}), step,
                     "slip.transposed"));
      ++tried;
    }
  }
  CHECK(tried >= 16);
}

TEST_CASE("whoever only rounds is never told wrong") {
  // By hand 0.57 is 57 hundredths, and nothing to cut off.
  constexpr auto cut = [](double x) { return std::trunc(x + std::copysign(1e-9, x)); };
  constexpr double (*habits[])(double) = {std::round, +cut, std::nearbyint};
  for (const char* name : small_lessons) {
    const LoadedLesson loaded = load_lesson(name);
    const Judgement untouched = judge(loaded.trace, {}, {});
    const std::size_t givens = loaded.trace.givens.size();
    for (const int decimals : {1, 2, 3, 5}) {
      for (const auto habit : habits) {
        Hypothesis own(untouched, loaded.trace);
        Submission work{.name = "work", .files = {}, .notes = {}, .list = {}};
        const double power = std::pow(10.0, decimals);
        for (std::size_t s = 0; s < loaded.trace.steps.size(); ++s) {
          const Step& step = loaded.trace.steps[s];
          Tensor numbers = own.worked(givens + s).value_or(step.output);
          for (double& x : numbers.values.mutable_span()) {
            if (std::abs(x) < 1e9) x = habit(x * power) / power;
          }
          own.put(givens + s, numbers);
          work.files.push_back(
              submitted_file(step.name, numbers, loaded.trace.token_layout, decimals));
        }
        INFO(name << " to " << decimals << " decimals");
        CHECK(check_submission(loaded.lesson, loaded.trace, work, {}).outcome == Outcome::correct);
      }
    }
  }
}

}  // namespace

}  // namespace check_mistakes_tests
