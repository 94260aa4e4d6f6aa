#include "terminal/model_views.hpp"

#include <nlohmann/json.hpp>

#include "terminal/grid.hpp"
#include "text/json.hpp"
#include "text/unicode.hpp"

namespace qkv::inline terminal {
namespace {

using Json = nlohmann::ordered_json;

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

// Returns in words where more than half of the attention goes: "mostly the token before"; empty if
// there is no simple answer.
std::string_view head_summary(const HeadStats& stats) {
  using ShareAndWords = std::pair<double, std::string_view>;
  const ShareAndWords all[] = {{stats.previous, "mostly the token before"},
                               {stats.itself, "mostly itself"},
                               {stats.first, "mostly the first token"}};
  const auto& [share, words] = *std::ranges::max_element(all, {}, &ShareAndWords::first);
  return share > 0.5 ? words : "";
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
  constexpr std::size_t most = 12;
  for (const HeadStats& stats : std::span(habits).first(std::min(habits.size(), most))) {
    pictures.push_back(picture_of(trace, stats));
    if (pictures.back().empty()) return {};
  }
  if (pictures.empty()) return {};
  return fmt::format("\n{}\n  {}\n", indented_lines(side_by_side(pictures, 0, look.width), 0),
                     glyph_legend);
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

constexpr std::size_t max_text_width = 100;

// Hanging indent.
std::string put(const std::string& prose, std::size_t indent, std::size_t columns) {
  return hanging_lines(std::string(indent, ' '), wrapped(prose, columns - indent - 4),
                       indent == 0 ? 0 : indent + 4);
}

// The product or the sum, or an error that names what was counted.
std::uint64_t counted_by(std::uint64_t a, std::string_view sign, std::uint64_t b,
                         std::string_view what) {
  std::uint64_t count = 0;
  const bool is_too_large =
      sign == "×" ? __builtin_mul_overflow(a, b, &count) : __builtin_add_overflow(a, b, &count);
  if (!is_too_large) return count;
  throw InputError(
      "{} {} {} {} are more than {}, the most that qkv params counts to; use smaller sizes",
      group_digits(a), sign, group_digits(b), what,
      group_digits(std::numeric_limits<std::uint64_t>::max()));
}

std::uint64_t times(std::uint64_t a, std::uint64_t b, std::string_view what) {
  return counted_by(a, "×", b, what);
}

MatrixCount matrix(std::string name, std::string also, std::uint64_t rows, std::uint64_t columns) {
  return {std::move(name), std::move(also), rows, columns, times(rows, columns, "parameters")};
}

// Aligned columns: the first on the left, the others on the right.
std::string table(std::vector<std::vector<std::string>> lines) {
  for (auto& line : lines) line.front().insert(0, "  ");
  return aligned_columns(lines, {0});
}

std::vector<std::string> counted(std::string what, std::string size, std::uint64_t count) {
  std::vector<std::string> line = {std::move(what), std::move(size), group_digits(count)};
  for (const NumberType& kind : number_types) line.push_back(bytes_text(bytes_of(count, kind)));
  return line;
}

std::string several(std::uint64_t count, std::string_view one) {
  return fmt::format("{} {}{}", group_digits(count), one, count == 1 ? "" : "s");
}

std::string parameter_table(const StackCount& count) {
  std::vector<std::vector<std::string>> lines = {{"parameters", "size", "count"}};
  for (const NumberType& kind : number_types) lines.front().emplace_back(kind.name);
  for (const MatrixCount& one : count.matrices) {
    lines.push_back(counted(
        one.also.empty() ? one.name : fmt::format("{} ({})", one.name, one.also),
        fmt::format("{} × {}", group_digits(one.rows), group_digits(one.columns)), one.count));
  }
  const StackSizes& sizes = count.sizes;
  lines.push_back(counted("a head", fmt::format("{} matrices", count.matrices.size()), count.head));
  lines.push_back(counted("a layer", several(sizes.heads, "head"), count.layer));
  lines.push_back(counted("in all", several(sizes.layers, "layer"), count.all));
  return table(lines);
}

std::string pattern_table(const std::vector<AttentionCells>& patterns) {
  std::vector<std::vector<std::string>> lines = {{"", ""}, {"n", "n² cells"}};
  for (const std::string_view whose : {"a head:", "in all:"}) {
    for (const NumberType& kind : number_types) {
      lines[0].emplace_back(&kind == number_types ? whose : "");
      lines[1].emplace_back(kind.name);
    }
  }
  for (const AttentionCells& one : patterns) {
    lines.push_back({group_digits(one.context), group_digits(one.cells)});
    for (const std::uint64_t cells : {one.cells, one.all_cells}) {
      for (const NumberType& kind : number_types) {
        lines.back().push_back(bytes_text(bytes_of(cells, kind)));
      }
    }
  }
  return table(lines);
}

Json counted_json(const char* what, std::uint64_t count) {
  Json bytes = Json::object();
  for (const NumberType& kind : number_types) bytes[std::string(kind.name)] = bytes_of(count, kind);
  return {{what, count}, {"bytes", bytes}};
}

}  // namespace

std::string heads_text(const Lesson& lesson, const Trace& trace,
                       const std::vector<HeadStats>& habits, const HeadsStyle& look) {
  const std::span<const HeadMeasure> measures = head_measures(trace);
  std::string text =
      indented(lesson.title, look, 0) + "\n" + table_text(habits, look, measures) + "\n";
  const bool is_one_token = !habits.empty() && trace.at(habits.front().step).rows() == 1;
  std::string legend = fmt::format(
      "{} entropy: 0 if a head looks at one token, larger if at several. largest: the largest "
      "attention weight of a row. previous, first, itself: the attention weight of the token "
      "before, of the first token, and of the token itself.",
      is_one_token ? "Of the only token." : "Means over all tokens but the first.");
  if (measures.size() == head_measures().size()) {
    legend +=
        " helps: how much the loss would grow without the head, to first order: minus the sum of "
        "its context's numbers, each times its gradient.";
  }
  return text + indented(legend, look) + pictures_text(trace, habits, look);
}

std::string heads_json(const Lesson& lesson, const Trace& trace,
                       const std::vector<HeadStats>& habits) {
  Json json = {{"lesson", lesson.name}, {"heads", Json::array()}};
  for (const HeadStats& stats : habits) {
    Json& one = json["heads"].emplace_back(Json{{"step", stats.step}});
    one["head"] = stats.head ? Json(*stats.head + 1) : nullptr;
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
  return text + "\n  Each line sets one head's context to 0 and works out the later steps again.\n";
}

std::string ablations_json(const Lesson& lesson, const Prediction& answer,
                           const std::vector<Ablation>& ablations, std::optional<double> loss) {
  const auto blocks = [](const Prediction& prediction) {
    return Json{
        {"token", prediction.word}, {"id", prediction.id}, {"probability", prediction.share}};
  };
  Json json = {{"lesson", lesson.name}, {"answer", blocks(answer)}};
  if (loss) json["loss"] = *loss;
  json["without"] = Json::array();
  for (const Ablation& one : ablations) {
    Json entry{{"step", one.step}};
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

std::string operations_text(std::size_t columns) {
  columns = std::min(std::max<std::size_t>(columns, 40), max_text_width);
  std::string text;
  for (const Operation* operation : catalogue()) {
    text += fmt::format("{:<12}  {}\n", operation->name, operation->title);
    if (!operation->operands.empty()) {
      text += put(fmt::format("of = {}", operation->operands), 6, columns);
    }
    for (const OptionRule& rule : operation->options) {
      text += put(fmt::format("{} = {}: {}{}", rule.name, choices(rule), rule.help,
                              rule.required ? " (must be there)" : ""),
                  6, columns);
    }
  }
  text += fmt::format("{:<12}  {}\n", backward_name, "Make the gradient of an operand");
  text += put("of = [\"d_scores\"]", 6, columns);
  text += put("through = the step whose gradient it starts from", 6, columns);
  text += put("to = an operand of that step (for all at once: [backward])", 6, columns);
  return text + "\n" +
         put("A step is a table [[step]] with name, op, of, its options, and the words: title, "
             "say, notice. If an option is not written, the first of its words in quotes is used, "
             "or false, unless its line says otherwise. The names after of are examples.",
             0, columns);
}

StackCount parameters_of(const StackSizes& sizes) {
  StackCount count{.sizes = sizes,
                   .matrices = {matrix("W_Q", "", sizes.d_model, sizes.d_k),
                                matrix("W_K", "", sizes.d_model, sizes.d_k),
                                matrix("W_V", "value-down", sizes.d_model, sizes.d_v),
                                matrix("W_O", "value-up", sizes.d_v, sizes.d_model)}};
  for (const MatrixCount& one : count.matrices)
    count.head = counted_by(count.head, "+", one.count, "parameters");
  count.layer = times(count.head, sizes.heads, "parameters");
  count.all = times(count.layer, sizes.layers, "parameters");
  return count;
}

AttentionCells attention_cells(std::uint64_t context, const StackSizes& sizes) {
  const std::uint64_t cells = times(context, context, "cells");
  return {context, cells, times(times(cells, sizes.heads, "cells"), sizes.layers, "cells")};
}

std::uint64_t bytes_of(std::uint64_t count, const NumberType& kind) {
  return times(count, kind.bytes, "bytes");
}

std::vector<std::uint64_t> standard_contexts() {
  std::vector<std::uint64_t> contexts;
  for (std::uint64_t n = 1024; n <= 1048576; n *= 2) contexts.push_back(n);
  return contexts;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  double amount = static_cast<double>(bytes);
  const auto rounded = [&] { return std::round(amount * 1000) / 1000; };
  for (; rounded() >= 1024; amount /= 1024) ++unit;
  return fmt::format("{} {}", rounded(), units[unit]);
}

std::string params_text(const StackCount& count, const std::vector<AttentionCells>& patterns) {
  const StackSizes& sizes = count.sizes;
  return fmt::format(
      "Attention with d_model {}, d_k {}, d_v {}: {} in a layer, {}\n\n"
      "{}\n"
      "The attention weights of a context of n tokens, {} in all\n\n"
      "{}",
      group_digits(sizes.d_model), group_digits(sizes.d_k), group_digits(sizes.d_v),
      several(sizes.heads, "head"), several(sizes.layers, "layer"), parameter_table(count),
      several(times(sizes.heads, sizes.layers, "heads"), "head"), pattern_table(patterns));
}

std::string params_json(const StackCount& count, const std::vector<AttentionCells>& patterns) {
  const StackSizes& sizes = count.sizes;
  Json json = {{"d_model", sizes.d_model},
               {"d_k", sizes.d_k},
               {"d_v", sizes.d_v},
               {"heads", sizes.heads},
               {"layers", sizes.layers}};
  json["matrices"] = Json::array();
  for (const MatrixCount& one : count.matrices) {
    Json matrix = {{"name", one.name}, {"rows", one.rows}, {"columns", one.columns}};
    matrix.update(counted_json("parameters", one.count));
    json["matrices"].push_back(std::move(matrix));
  }
  json["head"] = counted_json("parameters", count.head);
  json["block"] = counted_json("parameters", count.layer);
  json["all"] = counted_json("parameters", count.all);
  json["patterns"] = Json::array();
  for (const AttentionCells& one : patterns) {
    json["patterns"].push_back({{"context", one.context},
                                {"head", counted_json("cells", one.cells)},
                                {"all", counted_json("cells", one.all_cells)}});
  }
  return json_document(json);
}

}  // namespace qkv::inline terminal
