#include "terminal/model_views.hpp"

#include <nlohmann/json.hpp>

#include "terminal/grid.hpp"
#include "text/json.hpp"
#include "text/unicode.hpp"

namespace qkv::inline terminal {
namespace {

// "h0 head 2", short for head 2 of h0.attention_weights; "head 2" if a lesson has one such step.
template <class OneHead>
std::string short_name(const OneHead& one) {
  std::string name = one.step.substr(0, one.step.rfind('.'));  // if npos: all of it
  if (one.head) name += fmt::format(" head {}", *one.head + 1);
  return name;
}

// Wide enough for a number with its sign and point, and for a heading.
std::size_t cell_width(int digits) {
  return std::max<std::size_t>(8, static_cast<std::size_t>(digits) + 3);
}

// Wraps prose to the width, behind a margin.
std::string indented(std::string_view prose, const HeadsStyle& look, std::size_t margin = 2) {
  return indented_lines(wrapped(prose, look.width - margin), margin);
}

std::string heading(const Lesson& lesson, const HeadsStyle& look) {
  return indented(lesson.title, look, 0) +
         (lesson.summary.empty() ? "" : indented(lesson.summary, look, 0));
}

std::string table_text(const std::vector<HeadStats>& habits, const HeadsStyle& look,
                       std::span<const HeadMeasure> measures) {
  const std::size_t name_width =
      std::max<std::size_t>(4, max_width(mapped(habits, short_name<HeadStats>)));
  const std::size_t cells = cell_width(look.digits);
  std::string text = "  " + std::string(name_width, ' ');
  for (const HeadMeasure& measure : measures) text += fmt::format(" {:>{}}", measure.name, cells);
  text += "\n";
  bool is_model = true;
  for (const HeadStats& stats : habits) {
    if (stats.is_variant && std::exchange(is_model, false)) {
      text += indented("Variants in the lesson, not of the model:", look);
    }
    const std::string name = short_name(stats);
    text += "  " + sanitise(name) + std::string(name_width - width(name), ' ');
    for (const HeadMeasure& measure : measures)
      text += fmt::format(" {:>{}.{}f}", stats.*measure.value, cells, look.digits);
    const std::string_view words = head_summary(stats);
    const std::size_t columns = name_width + 3 + measures.size() * (cells + 1) + width(words);
    const std::string_view lead = columns <= look.width ? " " : "\n    ";
    text += fmt::format("{}{}\n", words.empty() ? "" : lead, words);
  }
  return text;
}

// One head's glyph pattern; empty if its text is too long for glyphs.
std::vector<std::string> picture_of(const Trace& trace, const HeadStats& stats) {
  const Tensor& weights = trace.at(stats.step);
  const MatrixLabels labels = own_labels(weights, stats.matrix, TokenLayout::rows);
  const PatternGlyphs pattern_glyphs =
      glyphs(weights.rows(), weights.columns(), weights.cells(stats.matrix), labels.columns);
  if (pattern_glyphs.rows.empty()) return {};
  std::vector<std::string> lines = lines_of(glyphs_below(pattern_glyphs, labels.rows));
  lines.insert(lines.begin(), sanitise(short_name(stats)));
  for (std::string& line : lines) line.insert(0, "  ");
  return lines;
}

std::string pictures_text(const Trace& trace, const std::vector<HeadStats>& habits,
                          const HeadsStyle& look) {
  std::vector<std::vector<std::string>> pictures;
  for (const HeadStats& stats : std::span(habits).first(std::min(habits.size(), look.pictures))) {
    pictures.push_back(picture_of(trace, stats));
    if (pictures.back().empty()) return {};
  }
  if (pictures.empty()) return {};
  return indented_lines(side_by_side(pictures, 0, look.width), 0) +
         fmt::format("\n  {}\n", glyph_legend());
}

std::string word_of(const Prediction& prediction) { return sanitise(prediction.word); }

// The loss without each head, and its increase.
std::string losses_text(const std::vector<Ablation>& ablations, double loss, std::size_t names,
                        int digits) {
  const std::size_t cells = cell_width(digits);
  std::string text = fmt::format("\n  {}  {:>{}}  {:>{}}\n", padded_right("switched off", names),
                                 "loss", cells + 1, "it grows", cells);
  text += fmt::format("  {}  {:>{}.{}f}\n", padded_right("none", names), loss, cells + 1, digits);
  for (const Ablation& one : ablations) {
    text += fmt::format("  {}  {:>{}.{}f}  {:>{}.{}f}\n",
                        padded_right(sanitise(short_name(one)), names), *one.loss, cells + 1,
                        digits, *one.loss - loss, cells, digits);
  }
  return text;
}

}  // namespace

std::string heads_text(const Lesson& lesson, const Trace& trace,
                       const std::vector<HeadStats>& habits, const HeadsStyle& look) {
  const std::span<const HeadMeasure> measures = head_measures(trace);
  std::string text =
      indented(lesson.title, look, 0) + "\n" + table_text(habits, look, measures) + "\n";
  std::string legend =
      "Means over all tokens but the first. entropy: 0 if a head looks at one token, larger if at "
      "several. largest: the largest attention weight of a row. previous, first, itself: the "
      "attention weight of the token before, of the first token, and of the token itself.";
  if (measures.size() == head_measures().size()) {
    legend +=
        " helps: how much the loss would grow without the head, to first order: minus the sum of "
        "its context's numbers, each times its gradient.";
  }
  text += indented(legend, look);
  const std::string pictures = pictures_text(trace, habits, look);
  return pictures.empty() ? text : text + "\n" + pictures;
}

std::string heads_json(const Lesson& lesson, const Trace& trace,
                       const std::vector<HeadStats>& habits) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  json["lesson"] = lesson.name;
  json["heads"] = nlohmann::ordered_json::array();
  for (const HeadStats& stats : habits) {
    nlohmann::ordered_json& one = json["heads"].emplace_back(json.object());
    one["step"] = stats.step;
    one["head"] = stats.head ? nlohmann::ordered_json(*stats.head + 1) : nullptr;
    if (stats.is_variant) one["variant"] = true;
    for (const HeadMeasure& measure : head_measures(trace)) {
      one[std::string(measure.name)] = stats.*measure.value;
    }
  }
  return json_document(json);
}

std::string ablations_text(const Lesson& lesson, const Prediction& answer,
                           const std::vector<Ablation>& ablations, std::optional<double> loss,
                           const HeadsStyle& look) {
  const int digits = look.digits;
  const std::size_t names =
      std::max(width("switched off"), max_width(mapped(ablations, short_name<Ablation>)));
  const std::size_t cells = cell_width(digits);
  std::string text = heading(lesson, look);
  text += fmt::format(
      "\n  The likeliest token after the whole text: {}\n"
      "  Its share of the probability with a part switched off, and how far it falls:\n\n",
      word_of(answer));
  text += fmt::format("  {}  {:>{}}  {:>{}}  then likeliest\n", padded_right("switched off", names),
                      "its share", cells + 1, "falls by", cells);
  text += fmt::format("  {}  {:>{}.{}f}\n", padded_right("none", names), answer.share, cells + 1,
                      digits);
  for (const Ablation& one : ablations) {
    text += fmt::format("  {}  {:>{}.{}f}  {:>{}.{}f}  {} ({:.{}f})\n",
                        padded_right(sanitise(short_name(one)), names), one.share, cells + 1,
                        digits, answer.share - one.share, cells, digits, word_of(one.prediction),
                        one.prediction.share, digits);
  }
  if (loss) text += losses_text(ablations, *loss, names, digits);
  return text +
         "\n  For each line one head's context is set to 0, and later steps are worked out "
         "again.\n";
}

std::string ablations_json(const Lesson& lesson, const Prediction& answer,
                           const std::vector<Ablation>& ablations, std::optional<double> loss) {
  const auto blocks = [](const Prediction& prediction) {
    return nlohmann::ordered_json{
        {"token", prediction.word}, {"id", prediction.id}, {"probability", prediction.share}};
  };
  nlohmann::ordered_json json;
  json["lesson"] = lesson.name;
  json["answer"] = blocks(answer);
  if (loss) json["loss"] = *loss;
  json["without"] = nlohmann::ordered_json::array();
  for (const Ablation& one : ablations) {
    nlohmann::ordered_json entry{{"step", one.step}};
    if (one.head) entry["head"] = *one.head + 1;
    entry["probability"] = one.share;
    entry["loses"] = answer.share - one.share;
    entry["likeliest"] = blocks(one.prediction);
    if (loss) {
      entry["loss"] = *one.loss;
      entry["loss_grows"] = *one.loss - *loss;
    }
    json["without"].push_back(std::move(entry));
  }
  return json_document(json);
}

std::string logit_lens_text(const Lesson& lesson, const std::vector<LayerPrediction>& logit_lens,
                            const HeadsStyle& look) {
  std::size_t names = 0;
  std::size_t words = 0;
  for (const LayerPrediction& one : logit_lens) {
    names = std::max(names, width(one.step));
    for (const Prediction& prediction : one.predictions)
      words = std::max(words, width(word_of(prediction)));
  }
  const std::size_t numbers = static_cast<std::size_t>(look.digits) + 3;  // " 0." and the digits
  const std::size_t room = look.width - std::min(look.width, names + 2);
  words = std::min(words, std::max<std::size_t>(room, numbers + 6) - numbers - 2);
  const std::size_t in_a_line = std::max<std::size_t>(1, room / (words + numbers + 2));
  std::string text = heading(lesson, look) + "\n";
  text += indented(
      "Logit lens: what would come next if a layer were the last one. Its residual stream goes "
      "through the last norm and W_logits.",
      look);
  for (const LayerPrediction& one : logit_lens) {
    for (std::size_t k = 0; k < one.predictions.size(); ++k) {
      if (k % in_a_line == 0)
        text += "\n  " + padded_right(k == 0 ? sanitise(one.step) : "", names);
      const std::string word = shortened(word_of(one.predictions[k]), words);
      text += fmt::format("  {} {:.{}f}", padded_right(word, words), one.predictions[k].share,
                          look.digits);
    }
  }
  return text + "\n";
}

}  // namespace qkv::inline terminal
