#pragma once

#include <filesystem>
#include <string>

#include "interactive/frame.hpp"
#include "interactive/walkthrough.hpp"
#include "lesson/lesson.hpp"
#include "lesson/library.hpp"
#include "trace/trace.hpp"

/// A lesson that can be worked in one's head: X = (1 0; 1 2), so X·Xᵀ = (1 1; 1 5).
namespace qkv::test {

inline LoadedLesson loaded(const std::string& toml) {
  const ParsedLesson reading = read_lesson(toml, "tiny.toml", std::filesystem::path());
  return {reading.lesson, evaluate(reading.lesson.recipe)};
}

inline LoadedLesson tiny() {
  return loaded(R"(title = "Tiny"
tokens = ["fat", "cat"]
[[given]]
name = "X"
value = [[1, 0], [1, 2]]
columns = ["describes", "thing"]
[[step]]
name = "scores"
op = "score"
of = ["X", "X"]
say = "Every word meets every word."
notice = "Five is the most."
[[step]]
name = "halves"
op = "scale"
of = ["scores"]
by = 2
say = "Half of each."
notice = "No more than that."
)");
}

inline Walkthrough tiny_walk(bool colour = false) {
  WalkStyle style;
  style.colour = colour;
  return walkthrough(tiny(), {0, 1}, style);
}

}  // namespace qkv::test
