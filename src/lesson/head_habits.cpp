#include "lesson/head_habits.hpp"

#include <algorithm>

#include "lesson/statistic.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

constexpr HabitMeasure measures[] = {
    {"entropy", "how widely it looks, in nats", &HeadHabit::entropy},
    {"largest", "a row's largest weight", &HeadHabit::largest},
    {"previous", "weight of the token before", &HeadHabit::previous},
    {"first", "weight of the first token", &HeadHabit::first},
    {"itself", "weight of the token itself", &HeadHabit::itself},
};

bool is_attention(const Step& step) {
  const Tensor& tensor = step.output;
  if (!step.operation->makes_weights || tensor.rank() < 2 || tensor.rows() != tensor.columns()) {
    return false;
  }
  return tensor.axes[tensor.rank() - 2].name == "query" && tensor.axes.back().name == "key";
}

HeadHabit habit_of(const Step& step, std::size_t matrix) {
  const Tensor& weights = step.output;
  const std::size_t n = weights.rows();
  HeadHabit habit{.step = step.name, .matrix = matrix, .head = head_of(weights, matrix)};
  const Statistic& entropy = *find_statistic("entropy");
  const std::size_t begin = n > 1 ? 1 : 0;
  const double share = 1 / static_cast<double>(n - begin);
  for (std::size_t i = begin; i < n; ++i) {
    const std::span<const double> row = weights.cells(matrix).subspan(i * n, n);
    habit.entropy += share * entropy.of(row);
    habit.largest += share * *std::ranges::max_element(row);
    habit.previous += i > 0 ? share * row[i - 1] : 0;
    habit.first += share * row[0];
    habit.itself += share * row[i];
  }
  return habit;
}

}  // namespace

std::span<const HabitMeasure> habit_measures() { return measures; }

std::vector<HeadHabit> head_habits(const Trace& trace) {
  std::vector<HeadHabit> habits;
  for (const Step& step : trace.steps) {
    for (std::size_t m = 0; is_attention(step) && m < step.output.matrices(); ++m) {
      habits.push_back(habit_of(step, m));
    }
  }
  return habits;
}

std::string_view habit_words(const HeadHabit& habit) {
  struct Words {
    double share;
    std::string_view says;
  };
  const Words all[] = {{habit.previous, "mostly the token before"},
                       {habit.itself, "mostly itself"},
                       {habit.first, "mostly the first token"}};
  const Words& most = *std::ranges::max_element(all, {}, &Words::share);
  return most.share > 0.5 ? most.says : "";
}

}  // namespace qkv
