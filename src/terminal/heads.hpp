#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "lesson/lesson.hpp"
#include "lesson/model/head_habits.hpp"

namespace qkv {

/// How the list of heads looks.
struct HeadsLook {
  std::size_t width = 80;
  int digits = 4;
  std::size_t pictures = 12;  ///< of so many heads at most, the first of the list
};

/// The habits as a table in the order given, and below it the weights of each head as dots, several
/// side by side.
std::string heads_text(const Lesson& lesson, const Trace& trace,
                       const std::vector<HeadHabit>& habits, const HeadsLook& look);

/// The same numbers for programs: a list of objects.
std::string heads_json(const Lesson& lesson, const Trace& trace,
                       const std::vector<HeadHabit>& habits);

}  // namespace qkv
