#include "lesson/generate/new_lesson.hpp"

#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <cmath>

#include "check/grading/advice.hpp"
#include "lesson/library.hpp"
#include "trace/trace.hpp"

namespace lesson_new_lesson_tests {

namespace {

using namespace qkv;

constexpr double two_units = 0.002;  // at three decimals

std::size_t hidden(const Trace& trace) {
  return indistinguishable_mistakes(trace, two_units).size();
}

TEST_CASE("a new lesson is sound, and every mistake shows in it") {
  const NewLesson request = GENERATE(
      NewLesson{}, NewLesson{.seed = 1}, NewLesson{.seed = 4294967295u}, NewLesson{.causal = true},
      NewLesson{.tokens = 2}, NewLesson{.tokens = 2, .d_model = 2},
      NewLesson{.tokens = 2, .causal = true}, NewLesson{.tokens = 3, .d_model = 4},
      NewLesson{.d_model = 4, .heads = 2}, NewLesson{.d_model = 4, .heads = 2, .causal = true},
      NewLesson{.tokens = 6, .d_model = 8, .heads = 2, .causal = true},
      NewLesson{.tokens = 10, .d_model = 16, .heads = 8, .causal = true});
  const std::string toml = new_lesson(request, hidden);
  INFO(fmt::format("seed {} tokens {} d_model {} heads {} causal {}", request.seed, request.tokens,
                   request.d_model, request.heads, request.causal));
  const ParsedLesson reading = read_lesson(toml, "new.toml", {});
  std::string faults;
  for (const Fault& fault : lint(reading)) faults += fault_line(reading.lesson, fault) + "\n";
  CHECK(faults == "");
  std::string same;
  const Trace trace = evaluate(reading.lesson.recipe);
  for (const IndistinguishablePair& one : indistinguishable_mistakes(trace, two_units)) {
    // What sizes have in common no other numbers can change: √n and √d_model, or d_k; two tokens'
    // masks.
    const bool is_by_sqrt_n = one.id == "scale.by-sqrt-n" || one.other == "scale.by-sqrt-n";
    if (is_by_sqrt_n && !one.other.empty()) continue;
    if (request.tokens == 2 && one.id == "mask.one-ahead") continue;
    same += fmt::format("{}: {} = {}\n", one.step, one.id, one.other);
  }
  CHECK(same == "");
}

NewLesson llama(NewLesson request) {
  const NewLesson usual = default_lesson(LessonStyle::llama);
  request.style = LessonStyle::llama;
  if (request.tokens == NewLesson{}.tokens) request.tokens = usual.tokens;
  if (request.d_model == NewLesson{}.d_model) request.d_model = usual.d_model;
  return request;
}

TEST_CASE("a new lesson of LLaMA's kind is sound, and every mistake shows in it") {
  const NewLesson request =
      GENERATE(llama({.heads = 2}), llama({.seed = 1}), llama({.seed = 2, .heads = 4}),
               llama({.tokens = 2, .heads = 3, .key_heads = 1}),
               llama({.tokens = 5, .d_model = 8, .heads = 2, .key_heads = 2}),
               llama({.seed = 6, .tokens = 6, .d_model = 16, .heads = 8}));
  INFO(fmt::format("seed {} tokens {} d_model {} heads {} of keys {}", request.seed, request.tokens,
                   request.d_model, request.heads, request.key_heads));
  const ParsedLesson reading = read_lesson(new_lesson(request, hidden), "new.toml", {});
  std::string faults;
  for (const Fault& fault : lint(reading)) faults += fault_line(reading.lesson, fault) + "\n";
  CHECK(faults == "");
  const Trace trace = evaluate(reading.lesson.recipe);
  for (const Fault& fault : undetectable_mistakes(reading.lesson, trace)) faults += fault.message;
  CHECK(faults == "");
}

TEST_CASE("a row of a new LLaMA's X has a root mean square that ends in a whole or a half") {
  const NewLesson request = llama({.seed = 3, .heads = 2});
  const ParsedLesson reading = read_lesson(new_lesson(request, hidden), "new.toml", {});
  const Tensor& x = reading.lesson.recipe.givens[0].tensor;
  for (std::size_t i = 0; i < x.rows(); ++i) {
    double squares = 0;
    for (std::size_t j = 0; j < x.columns(); ++j) squares += x.at(0, i, j) * x.at(0, i, j);
    const double halves = 2 * std::sqrt(squares / 6);
    CHECK(halves == Approx(std::round(halves)));
  }
}

TEST_CASE("a new LLaMA lesson has fewer heads of keys, and a query as wide as no other size") {
  const NewLesson request = llama({.seed = 3, .tokens = 5, .d_model = 4, .heads = 4});
  const Trace trace =
      evaluate(read_lesson(new_lesson(request, hidden), "new.toml", {}).lesson.recipe);
  CHECK(trace.at("Q").shape() == Shape{4, 5, 6});
  CHECK(trace.at("K_rope").shape() == Shape{2, 5, 6});
  CHECK(trace.at("V").shape() == Shape{2, 5, 6});
  CHECK(trace.at("residual2").shape() == Shape{5, 4});
}

TEST_CASE("the same seed gives the same lesson, another one another") {
  CHECK(new_lesson({.seed = 5}, hidden) == new_lesson({.seed = 5}, hidden));
  CHECK(new_lesson({.seed = 5}, hidden) != new_lesson({.seed = 6}, hidden));
}

TEST_CASE("weights and embeddings are small whole numbers") {
  const ParsedLesson reading = read_lesson(new_lesson({.seed = 9}, hidden), "new.toml", {});
  for (const Given& given : reading.lesson.recipe.givens) {
    for (const double value : given.tensor.values) {
      CHECK((value == -1 || value == 0 || value == 1 || value == 2));
    }
  }
}

TEST_CASE("no row of a weight and no column of X is all zeros: a slip there would not show") {
  const NewLesson request = {.seed = 7, .tokens = 3, .d_model = 4, .heads = 2, .causal = true};
  const ParsedLesson reading = read_lesson(new_lesson(request, hidden), "new.toml", {});
  for (const Given& given : reading.lesson.recipe.givens) {
    const Tensor tensor = given.name == "X" ? transposed(given.tensor) : given.tensor;
    for (std::size_t i = 0; i < tensor.values.size(); i += tensor.columns()) {
      double sum = 0;
      for (std::size_t j = 0; j < tensor.columns(); ++j) sum += std::abs(tensor.values[i + j]);
      INFO(given.name << " " << i / tensor.columns() + 1);
      CHECK(sum > 0);
    }
  }
}

TEST_CASE("a new lesson says how it is written, and which commands to try on it") {
  const std::string toml = new_lesson({.file = "mine.toml"}, hidden);
  CHECK(toml.starts_with("# A lesson file."));
  CHECK(toml.find("\n    qkv explain mine.toml 'scores[2,1]'\n") != std::string::npos);
}

}  // namespace

}  // namespace lesson_new_lesson_tests
