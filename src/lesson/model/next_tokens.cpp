#include "lesson/model/predictions.hpp"

namespace qkv::inline lesson {
namespace {

// The token of an id; `<id>` if its label is blank.
std::string word_of(std::string_view label, std::size_t id) {
  return label.empty() ? fmt::format("<{}>", id) : std::string(label);
}

bool meets_the_past(const StepRecipe& step) {
  return step.operation == &score_operation || step.operation == &weighted_sum_operation;
}

// Appends the new row to each matrix.
Tensor appended(const Tensor& past, const Tensor& row) {
  AxisRoles axes(past);
  axes.rows = {.name = axes.rows.name, .size = axes.rows.size + 1};
  Tensor longer = uninitialised(axes.all());
  for (std::size_t m = 0; m < longer.matrices(); ++m) {
    const auto end = std::ranges::copy(past.cells(m), longer.mutable_cells(m).begin()).out;
    std::ranges::copy(row.cells(m), end);
  }
  return longer;
}

/// Incremental decoder: it caches keys and values, so that one more token costs one row. Example:
/// `IncrementalDecoder decoder(recipe, trace); decoder.after(7)` returns the last row of
/// probabilities of the longer text.
class IncrementalDecoder {
 public:
  /// `trace` has the model's givens and at least the steps of `steps_for_decoding`. It must outlive
  /// this object.
  IncrementalDecoder(const Recipe& recipe, const Trace& trace)
      : trace_(trace), environment_(trace.environment), position_(trace.at("token_ids").columns()) {
    const std::vector<bool> needed = Liveness(recipe, {"probabilities"}).needed;
    for (std::size_t s = 0; s < needed.size(); ++s) {
      if (!needed[s]) continue;
      const StepRecipe& step = steps_.emplace_back(recipe.steps[s]);
      if (meets_the_past(step)) past_[step.of[1]] = trace.at(step.of[1]);
    }
  }

  /// Appends the token to the text and returns the next row of probabilities. Throws InputError if
  /// the text exceeds the model's positions.
  const Tensor& after(double id) {
    for (const StepRecipe& step : steps_) rows_[step.name] = row_of(step, id);
    ++position_;
    return rows_.at("probabilities");
  }

 private:
  Tensor row_of(const StepRecipe& step, double id) {
    if (step.operation == &tokenise_operation) {
      return {.axes = {{.name = "token", .size = 1}}, .values = std::vector<double>{id}};
    }
    if (step.operation == &positions_operation) return position_row(step);
    // A single query sees all earlier tokens, so a causal mask hides none.
    if (step.operation == &mask_operation && step.options.word("kind", "causal") == "causal") {
      return operand(step.of[0]);
    }
    Options options = step.options;
    if (step.operation == &rope_operation) {
      options.set("first", options.number("first", 0) + static_cast<double>(position_));
    }
    Call call{.step = step.name,
              .options = &options,
              .environment = &environment_,
              .token_layout = trace_.token_layout};
    for (std::size_t k = 0; k < step.of.size(); ++k) {
      const bool is_past = k == 1 && meets_the_past(step);
      call.inputs.push_back(is_past ? &with_past(step.of[k]) : &operand(step.of[k]));
      call.names.push_back(step.of[k]);
    }
    return result_of(*step.operation, call);
  }

  Tensor position_row(const StepRecipe& step) const {
    const Tensor& table = operand(step.of[1]);
    if (position_ >= table.rows()) {
      throw InputError(
          "--continue: {} has rows for {} positions only; take fewer tokens, or a shorter text",
          step.of[1], table.rows());
    }
    const auto row = table.values.part(position_ * table.columns(), table.columns());
    return {.axes = {{.name = "token", .size = 1}, table.axes.back()},
            .values = Values(row.begin(), row.end())};
  }

  const Tensor& operand(const std::string& name) const {
    const auto row = rows_.find(name);
    return row == rows_.end() ? trace_.at(name) : row->second;
  }

  const Tensor& with_past(const std::string& name) {
    Tensor& past = past_.at(name);
    past = appended(past, rows_.at(name));
    return past;
  }

  std::vector<StepRecipe> steps_;  // up to the probabilities
  const Trace& trace_;
  Environment environment_;
  std::size_t position_;                             // of the next token, from 0
  std::map<std::string, Tensor, std::less<>> rows_;  // each step's row for the current token
  std::map<std::string, Tensor, std::less<>> past_;  // keys and values, one row per token
};

// Generates the most likely tokens one by one. The text is evaluated once, then each token alone.
std::vector<std::size_t> decode_greedily(const Recipe& recipe, const Trace& trace,
                                         std::size_t count) {
  auto ids = mapped(trace.at("token_ids").values, [](double id) { return std::size_t(id); });
  IncrementalDecoder writing(recipe, trace);
  const Tensor* probabilities = &trace.at("probabilities");
  while (true) {
    ids.push_back(top_tokens(*probabilities, 1).front().id);
    if (--count == 0) return ids;
    probabilities = &writing.after(static_cast<double>(ids.back()));
  }
}

// True if keys can't be cached: each new token rotates all keys anew, or a step is now a given with
// a row for each token of this text.
bool needs_full_pass(const LoadedLesson& loaded) {
  const std::vector<StepRecipe>& steps = loaded.lesson.recipe.steps;
  return (loaded.own && loaded.own->lesson.recipe.steps.size() != steps.size()) ||
         std::ranges::any_of(steps, [](const StepRecipe& step) {
           return step.options.word("scaling", "none") == "dynamic";
         });
}

}  // namespace

std::vector<Prediction> top_tokens(const Tensor& probabilities, std::size_t count) {
  const std::size_t width = std::min(probabilities.columns(), probabilities.values.size());
  const std::size_t last = probabilities.values.size() - width;
  auto ids = mapped_places(width, std::identity());
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(std::min(count, width));
  const auto share = [&](std::size_t id) {
    const double value = probabilities.values[last + id];
    return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value;
  };
  std::partial_sort(ids.begin(), end, ids.end(), [&](std::size_t a, std::size_t b) {
    return share(a) != share(b) ? share(a) > share(b) : a < b;
  });
  return mapped(std::span(ids.begin(), end), [&](std::size_t id) {
    return Prediction{.word = word_of(probabilities.axes.back().label(id, 0), id),
                      .id = id,
                      .share = probabilities.values[last + id]};
  });
}

std::string top_tokens_text(const Tensor& probabilities, std::size_t count) {
  std::string text;
  for (const Prediction& prediction : top_tokens(probabilities, count)) {
    if (!text.empty() && prediction.share < 0.0005) break;  // would read 0.0 %
    // " cat" is another token than "cat".
    const bool has_blanks = prediction.word.starts_with(' ') || prediction.word.ends_with(' ');
    text += fmt::format("{}{}{}{} ({:.1f} %)", text.empty() ? "" : ", ", has_blanks ? "\"" : "",
                        prediction.word, has_blanks ? "\"" : "", 100 * prediction.share);
  }
  return text;
}

ModelInput greedy_decoding(const ModelInput& input, std::size_t new_tokens, const ReadInput& read) {
  ModelInput whole = input;
  for (std::size_t left = new_tokens; left > 0;) {
    const LoadedLesson loaded = read(whole);
    if (!loaded.trace.find("token_ids") || !loaded.trace.find("probabilities")) {
      throw InputError(
          "--continue: nothing here goes from token_ids to probabilities; it is for models, and "
          "for lessons that have one");
    }
    const std::size_t at_once = needs_full_pass(loaded) ? 1 : left;
    whole = {.text = {}, .ids = decode_greedily(loaded.lesson.recipe, loaded.trace, at_once)};
    left -= at_once;
  }
  return whole;
}

RequestedSteps steps_for_decoding(const Recipe& recipe) {
  // keys and values: the rows of past tokens
  const auto past = [](const StepRecipe& step) { return step.of[1]; };
  RequestedSteps wanted = filtered(recipe.steps, meets_the_past, past);
  for (const char* name : {"token_ids", "probabilities"}) wanted.emplace_back(name);
  return wanted;
}

TokenisedText tokenised_ids(const std::vector<std::size_t>& ids, const AxisLabels& tokens) {
  TokenisedText cut;
  for (const std::size_t id : ids) {
    cut.ids.push_back(static_cast<double>(id));
    cut.words.push_back(word_of(id < tokens.size() ? tokens[id] : std::string(), id));
  }
  return cut;
}

std::string continuation_text(const ModelInput& input, const TokenisedText& cut,
                              std::size_t new_tokens, const Recipe& recipe) {
  const StepRecipe* cuts = step_in(recipe, "token_ids");
  const bool has_blanks = cuts && cuts->options.word("method", "words") == "words";
  std::string before;
  std::string after;
  for (std::size_t i = 0; i < cut.ids.size(); ++i) {
    const bool is_new = i + new_tokens >= cut.ids.size();
    std::string& text = is_new ? after : before;
    if (has_blanks && (is_new || i > 0)) text += ' ';
    text += cut.words[i];
  }
  return fmt::format("The model has continued \"{}\" with \"{}\".", input.text.value_or(before),
                     after);
}

}  // namespace qkv::inline lesson
