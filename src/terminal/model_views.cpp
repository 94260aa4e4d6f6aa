#include "terminal/model_views.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>

#include "terminal/lines.hpp"
#include "terminal/pattern_glyphs.hpp"
#include "text/escape.hpp"
#include "text/number.hpp"
#include "text/wrapping.hpp"
#include "trace/labels.hpp"

namespace qkv::inline terminal {
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

namespace {

// "h0 head 2", or "head 2" where the step is in no layer.
std::string short_name(const std::string& step, std::optional<std::size_t> head) {
  const std::size_t dot = step.rfind('.');
  std::string name = dot == std::string::npos ? step : step.substr(0, dot);
  if (head && dot == std::string::npos) return fmt::format("{} head {}", step, *head + 1);
  if (head) name += fmt::format(" head {}", *head + 1);
  return name;
}

std::string padded(const std::string& text, std::size_t columns) {
  const std::size_t own = width(text);
  return text + std::string(own < columns ? columns - own : 0, ' ');
}

std::string word_of(const Guess& guess) { return visible(guess.word); }

// The loss with each head off, and by how much it grows.
std::string losses_text(const std::vector<Ablation>& ablations, double loss, std::size_t names,
                        int digits) {
  const auto cells = std::max<std::size_t>(8, static_cast<std::size_t>(digits) + 3);
  std::string text = fmt::format("\n  {}  {:>{}}  {:>{}}\n", padded("switched off", names), "loss",
                                 cells + 1, "it grows", cells);
  text += fmt::format("  {}  {:>{}.{}f}\n", padded("none", names), loss, cells + 1, digits);
  for (const Ablation& one : ablations) {
    text += fmt::format("  {}  {:>{}.{}f}  {:>{}.{}f}\n",
                        padded(visible(short_name(one.step, one.head)), names), *one.loss,
                        cells + 1, digits, *one.loss - loss, cells, digits);
  }
  return text;
}

}  // namespace

std::string ablations_text(const Lesson& lesson, const Guess& answer,
                           const std::vector<Ablation>& ablations, std::optional<double> loss,
                           int digits) {
  std::size_t names = width("switched off");
  for (const Ablation& one : ablations) {
    names = std::max(names, width(short_name(one.step, one.head)));
  }
  const auto cells = std::max<std::size_t>(8, static_cast<std::size_t>(digits) + 3);
  std::string text = visible(lesson.title) + "\n";
  if (!lesson.summary.empty()) text += visible(lesson.summary) + "\n";
  text += fmt::format("\n  The likeliest token after the whole text: {}\n\n", word_of(answer));
  text += fmt::format("  {}  {:>{}}  {:>{}}  then likeliest\n", padded("switched off", names),
                      "its share", cells + 1, "it loses", cells);
  text += fmt::format("  {}  {:>{}.{}f}\n", padded("none", names), answer.share, cells + 1, digits);
  for (const Ablation& one : ablations) {
    text += fmt::format("  {}  {:>{}.{}f}  {:>{}.{}f}  {} ({:.{}f})\n",
                        padded(visible(short_name(one.step, one.head)), names), one.share,
                        cells + 1, digits, answer.share - one.share, cells, digits,
                        word_of(one.guess), one.guess.share, digits);
  }
  if (loss) text += losses_text(ablations, *loss, names, digits);
  return text +
         "\n  Each head's context is set to 0 by itself, and all that follows worked out again.\n";
}

std::string ablations_json(const Lesson& lesson, const Guess& answer,
                           const std::vector<Ablation>& ablations, std::optional<double> loss) {
  const auto told = [](const Guess& guess) {
    return nlohmann::ordered_json{
        {"token", guess.word}, {"id", guess.id}, {"probability", guess.share}};
  };
  nlohmann::ordered_json json;
  json["lesson"] = lesson.name;
  json["answer"] = told(answer);
  if (loss) json["loss"] = *loss;
  json["without"] = nlohmann::ordered_json::array();
  for (const Ablation& one : ablations) {
    nlohmann::ordered_json entry{{"step", one.step}};
    if (one.head) entry["head"] = *one.head + 1;
    entry["probability"] = one.share;
    entry["loses"] = answer.share - one.share;
    entry["likeliest"] = told(one.guess);
    if (loss) {
      entry["loss"] = *one.loss;
      entry["loss_grows"] = *one.loss - *loss;
    }
    json["without"].push_back(std::move(entry));
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string glimpses_text(const Lesson& lesson, const std::vector<Glimpse>& glimpses, int digits) {
  std::size_t names = 0;
  std::size_t words = 0;
  for (const Glimpse& one : glimpses) {
    names = std::max(names, width(one.step));
    for (const Guess& guess : one.guesses) words = std::max(words, width(word_of(guess)));
  }
  std::string text = visible(lesson.title) + "\n";
  if (!lesson.summary.empty()) text += visible(lesson.summary) + "\n";
  text +=
      "\n  What would come next, if a layer were the last: its stream through the last norm and "
      "the\n"
      "  table of the logits.\n\n";
  for (const Glimpse& one : glimpses) {
    text += "  " + padded(visible(one.step), names);
    for (const Guess& guess : one.guesses) {
      text += fmt::format("  {} {:.{}f}", padded(word_of(guess), words), guess.share, digits);
    }
    text += "\n";
  }
  return text;
}

}  // namespace qkv::inline terminal
