#include "lesson/model/head_habits.hpp"

#include <algorithm>
#include <numeric>

#include "lesson/statistic.hpp"
#include "ops/catalogue.hpp"
#include "trace/backward.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

constexpr HabitMeasure measures[] = {
    {"entropy", "how widely it looks, in nats", &HeadHabit::entropy},
    {"largest", "a row's largest weight", &HeadHabit::largest},
    {"previous", "weight of the token before", &HeadHabit::previous},
    {"first", "weight of the first token", &HeadHabit::first},
    {"itself", "weight of the token itself", &HeadHabit::itself},
    {"helps", "how much the loss would grow without it, to first order", &HeadHabit::helps},
};

bool is_attention(const Step& step) {
  const Tensor& tensor = step.output;
  if (!step.operation->makes_weights || tensor.rank() < 2 || tensor.rows() != tensor.columns()) {
    return false;
  }
  return tensor.axes[tensor.rank() - 2].name == "query" && tensor.axes.back().name == "key";
}

// The gradient of a weighted sum that is there, and its numbers.
struct Contribution {
  const Tensor* context = nullptr;
  const Tensor* gradient = nullptr;
};

// What the heads with these weights hand over; nothing where the loss does not see it.
std::optional<Contribution> contribution_of(const Step& weights, const Trace& trace) {
  for (const Step& step : trace.steps) {
    if (step.operation != &weighted_sum_operation || step.of.front() != weights.name) continue;
    const Step* gradient = trace.find_step(gradient_name(step.name));
    if (gradient) return Contribution{&step.output, &gradient->output};
  }
  return {};
}

double helps(const Contribution& of, std::size_t matrix) {
  const std::span<const double> context = of.context->cells(matrix);
  const std::span<const double> gradient = of.gradient->cells(matrix);
  return -std::inner_product(context.begin(), context.end(), gradient.begin(), 0.0);
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

std::span<const HabitMeasure> habit_measures(const Trace& trace) {
  const bool has_gradients = std::ranges::any_of(trace.steps, [&](const Step& step) {
    return is_attention(step) && contribution_of(step, trace);
  });
  return habit_measures().first(std::size(measures) - (has_gradients ? 0 : 1));
}

std::vector<HeadHabit> head_habits(const Trace& trace) {
  std::vector<HeadHabit> habits;
  for (const Step& step : trace.steps) {
    if (!is_attention(step)) continue;
    const auto contribution = contribution_of(step, trace);
    for (std::size_t m = 0; m < step.output.matrices(); ++m) {
      habits.push_back(habit_of(step, m));
      if (contribution) habits.back().helps = helps(*contribution, m);
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
