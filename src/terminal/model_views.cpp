#include "terminal/model_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/escape.hpp"
#include "text/width.hpp"

namespace qkv {
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

}  // namespace qkv
