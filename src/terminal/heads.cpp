#include "terminal/heads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "terminal/lines.hpp"
#include "terminal/pattern_glyphs.hpp"
#include "text/escape.hpp"
#include "text/number.hpp"
#include "text/width.hpp"
#include "text/wrapping.hpp"
#include "trace/labels.hpp"

namespace qkv {
namespace {

// "h0 head 2", short for head 2 of h0.attention_weights; "head 2" where a lesson has one such step.
std::string short_name(const HeadHabit& habit) {
  const std::size_t dot = habit.step.rfind('.');
  std::string name = dot == std::string::npos ? habit.step : habit.step.substr(0, dot);
  if (habit.head) name += fmt::format(" head {}", *habit.head + 1);
  return name;
}

std::string table_text(const std::vector<HeadHabit>& habits, const HeadsLook& look,
                       std::span<const HabitMeasure> measures) {
  std::size_t name_width = 4;
  for (const HeadHabit& habit : habits) name_width = std::max(name_width, width(short_name(habit)));
  const auto cell_width = std::max<std::size_t>(8, static_cast<std::size_t>(look.digits) + 3);
  std::string text = "  " + std::string(name_width, ' ');
  for (const HabitMeasure& measure : measures) {
    text += fmt::format("  {:>{}}", measure.name, cell_width);
  }
  text += "\n";
  for (const HeadHabit& habit : habits) {
    const std::string name = short_name(habit);
    text += "  " + visible(name) + std::string(name_width - width(name), ' ');
    for (const HabitMeasure& measure : measures) {
      text += fmt::format("  {:>{}.{}f}", habit.*measure.value, cell_width, look.digits);
    }
    const std::string_view words = habit_words(habit);
    text += fmt::format("{}{}\n", words.empty() ? "" : "  ", words);
  }
  return text;
}

// The lines of one head's picture; none where its text is too long for dots.
std::vector<std::string> picture_of(const Trace& trace, const HeadHabit& habit) {
  const Tensor& weights = trace.at(habit.step);
  const MatrixLabels labels = own_labels(weights, habit.matrix, Convention::rows);
  const Dots dotted =
      dots(weights.rows(), weights.columns(), weights.cells(habit.matrix), labels.columns);
  if (dotted.rows.empty()) return {};
  std::vector<std::string> lines = lines_of(dots_below(dotted, labels.rows));
  lines.insert(lines.begin(), visible(short_name(habit)));
  for (std::string& line : lines) line.insert(0, "  ");
  return lines;
}

std::string pictures_text(const Trace& trace, const std::vector<HeadHabit>& habits,
                          const HeadsLook& look) {
  std::vector<std::vector<std::string>> pictures;
  for (const HeadHabit& habit : std::span(habits).first(std::min(habits.size(), look.pictures))) {
    pictures.push_back(picture_of(trace, habit));
    if (pictures.back().empty()) return {};
  }
  if (pictures.empty()) return {};
  std::string text;
  for (const std::string& line : side_by_side(pictures, 0, look.width)) text += line + "\n";
  return text + fmt::format("\n  {}\n", dots_legend());
}

}  // namespace

std::string heads_text(const Lesson& lesson, const Trace& trace,
                       const std::vector<HeadHabit>& habits, const HeadsLook& look) {
  const std::span<const HabitMeasure> measures = habit_measures(trace);
  std::string text = visible(lesson.title) + "\n\n" + table_text(habits, look, measures) + "\n";
  std::string legend =
      "Means over all tokens but the first. entropy: 0 looks at one token, more looks wider; "
      "largest: the largest weight of a row; previous, first, itself: the weight that the token "
      "before, the first token and the token itself get.";
  if (measures.size() == habit_measures().size()) {
    legend +=
        " helps: how much the loss would grow without the head, to first order: less the sum of "
        "its context's numbers, each times its gradient.";
  }
  for (const std::string& line : wrapped(legend, look.width - 2)) {
    text += "  " + line + "\n";
  }
  const std::string pictures = pictures_text(trace, habits, look);
  return pictures.empty() ? text : text + "\n" + pictures;
}

std::string heads_json(const Lesson& lesson, const Trace& trace,
                       const std::vector<HeadHabit>& habits) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  json["lesson"] = lesson.name;
  json["heads"] = nlohmann::ordered_json::array();
  for (const HeadHabit& habit : habits) {
    nlohmann::ordered_json& one = json["heads"].emplace_back(json.object());
    one["step"] = habit.step;
    one["head"] = habit.head ? nlohmann::ordered_json(*habit.head + 1) : nullptr;
    for (const HabitMeasure& measure : habit_measures(trace)) {
      one[std::string(measure.name)] = habit.*measure.value;
    }
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace qkv
