#include "exposition/arithmetic.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "text/unicode.hpp"
#include "trace/trace.hpp"

namespace exposition_sensitivity_tests {

namespace {

using namespace qkv;

LoadedLesson loaded_from(std::string_view text) {
  ParsedLesson reading = read_lesson(text, "test.toml", {});
  REQUIRE(reading.faults.empty());
  Trace trace = evaluate(reading.lesson.recipe);
  return {std::move(reading.lesson), std::move(trace)};
}

// Y = X·W is [-1.5, 1.5]; relu leaves its second row, which is the loss.
LoadedLesson small_lesson() {
  return loaded_from(R"(
[[given]]
name  = "X"
value = [[1, 2], [3, 0]]
[[given]]
name  = "W"
value = [[0.5], [-1]]
[[given]]
name  = "ones"
value = [[1, 1]]
[[step]]
name = "Y"
op   = "project"
of   = ["X", "W"]
[[step]]
name = "R"
op   = "relu"
of   = ["Y"]
[[step]]
name = "loss"
op   = "matmul"
of   = ["ones", "R"]
[backward]
of = "loss"
)");
}

std::vector<std::string> sensitivity_lines(const LoadedLesson& loaded, const std::string& cell) {
  const auto seen = sensitivity_of(loaded, find_cell(cell, loaded.trace));
  REQUIRE(seen);
  std::vector<std::string> lines;
  for (const StepSensitivity& step : seen->steps) {
    lines.push_back(step.name + " " + sensitivity_text(step, loaded.trace, 4));
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("the loss sees a weight through the cells that move with it and reach the loss") {
  const LoadedLesson loaded = small_lesson();
  CHECK(sensitivity_lines(loaded, "d_W[1,1]") ==
        Lines{"Y 1 of 2: [2,1]\u00a03", "R 1 of 2: [2,1]\u00a03", "loss 1 of 1: [1,1]\u00a03"});
  CHECK(sensitivity_lines(loaded, "d_Y[2,1]") ==
        Lines{"R 1 of 2: [2,1]\u00a01", "loss 1 of 1: [1,1]\u00a01"});
}

// Y is 0.02 with a slope of 1000: a difference of 1e-4 in X is one of 0.1 in Y, where GELU bends.
TEST_CASE("a derivative of steep steps is that of tiny numbers, too") {
  const LoadedLesson loaded = loaded_from(R"(
[[given]]
name  = "X"
value = [[2e-5, 0.5]]
[[given]]
name  = "W"
value = [[1000], [0]]
[[given]]
name  = "one"
value = [[1]]
[[step]]
name = "Y"
op   = "project"
of   = ["X", "W"]
[[step]]
name = "G"
op   = "gelu"
of   = ["Y"]
[[step]]
name = "loss"
op   = "matmul"
of   = ["one", "G"]
[backward]
of = "loss"
)");
  const auto seen = sensitivity_of(loaded, find_cell("d_X[1,1]", loaded.trace));
  REQUIRE(seen);
  const double gradient = loaded.trace.at("d_X").values[0];
  CHECK(seen->steps.back().name == "loss");
  CHECK(seen->steps.back().cells.front().derivative == Approx(gradient).epsilon(1e-6));
}

TEST_CASE("a weight that moves no cell with a gradient is seen nowhere") {
  CHECK(sensitivity_lines(small_lesson(), "d_W[2,1]").empty());
}

TEST_CASE("what is no gradient is seen through nothing") {
  const LoadedLesson loaded = small_lesson();
  CHECK_FALSE(sensitivity_of(loaded, find_cell("Y[1,1]", loaded.trace)));
  CHECK_FALSE(sensitivity_of(loaded, find_cell("W[1,1]", loaded.trace)));
  CHECK_FALSE(sensitivity_of(loaded, find_cell("d_loss[1,1]", loaded.trace)));
}

TEST_CASE("gains times gradients add up to the gradient, at each step that all goes through") {
  const LoadedLesson loaded = load_lesson("way-back");
  const Tensor& weight = loaded.trace.at("d_W_Q");
  for (std::size_t i = 0; i < weight.values.size(); ++i) {
    const auto seen = sensitivity_of(loaded, cell_at("d_W_Q", weight, i));
    REQUIRE(seen);
    for (const StepSensitivity& step : seen->steps) {
      const Tensor& gradient = loaded.trace.at("d_" + step.name);
      double sum = 0;
      for (const CellSensitivity& cell : step.cells)
        sum += cell.derivative * gradient.values[cell.index];
      INFO(step.name << " of cell " << i);
      CHECK(sum == Approx(weight.values[i]).margin(1e-7));
    }
  }
}

}  // namespace exposition_sensitivity_tests
