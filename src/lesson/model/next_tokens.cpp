#include "lesson/model/next_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "lesson/model/guess.hpp"
#include "lesson/model/writing.hpp"
#include "ops/catalogue.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

// The likeliest tokens after the text, one after the other: the whole text is read once, and then
// each token by itself.
std::vector<std::size_t> written_on(const Recipe& recipe, const Trace& trace, std::size_t count) {
  std::vector<std::size_t> ids;
  for (const double id : trace.at("token_ids").values) ids.push_back(static_cast<std::size_t>(id));
  Writing writing(recipe, trace);
  ids.push_back(likeliest(trace.at("probabilities")));
  while (--count > 0) ids.push_back(likeliest(writing.after(static_cast<double>(ids.back()))));
  return ids;
}

// Whether no key can be kept: each token more turns those of all others anew, or a step is a given
// now, with a row for each token of this text.
bool is_read_anew(const LoadedLesson& loaded) {
  const std::vector<StepRecipe>& steps = loaded.lesson.recipe.steps;
  return (loaded.own && loaded.own->lesson.recipe.steps.size() != steps.size()) ||
         std::ranges::any_of(steps, [](const StepRecipe& step) {
           return step.options.word("scaling", "none") == "dynamic";
         });
}

void require_model(const Trace& trace) {
  if (trace.find("token_ids") && trace.find("probabilities")) return;
  throw InputError(
      "--continue: nothing here goes from token_ids to probabilities; it is for models, and for "
      "lessons that have one");
}

}  // namespace

ModelInput continued(const ModelInput& input, std::size_t further, const ReadInput& read) {
  ModelInput whole = input;
  for (std::size_t left = further; left > 0;) {
    const LoadedLesson loaded = read(whole);
    require_model(loaded.trace);
    const std::size_t at_once = is_read_anew(loaded) ? 1 : left;
    whole = {.text = {}, .ids = written_on(loaded.lesson.recipe, loaded.trace, at_once)};
    left -= at_once;
  }
  return whole;
}

WantedSteps needed_to_continue(const Recipe& recipe) {
  WantedSteps wanted = cached_steps(recipe);
  for (const char* name : {"token_ids", "probabilities"}) wanted.emplace_back(name);
  return wanted;
}

CutText cut_ids(const std::vector<std::size_t>& ids, const Tensor& probabilities) {
  CutText cut;
  for (const std::size_t id : ids) {
    cut.ids.push_back(static_cast<double>(id));
    cut.words.push_back(word_of(probabilities.axes.back().label(id, 0), id));
  }
  return cut;
}

std::string told_continuation(const ModelInput& input, const CutText& cut, std::size_t further,
                              const Recipe& recipe) {
  const auto cuts = std::ranges::find(recipe.steps, "token_ids", &StepRecipe::name);
  const bool has_blanks =
      cuts != recipe.steps.end() && cuts->options.word("method", "words") == "words";
  std::string before;
  std::string after;
  for (std::size_t i = 0; i < cut.ids.size(); ++i) {
    const bool is_new = i + further >= cut.ids.size();
    std::string& text = is_new ? after : before;
    if (has_blanks && (is_new || i > 0)) text += ' ';
    text += cut.words[i];
  }
  return fmt::format("The model has continued \"{}\" with \"{}\".", input.text.value_or(before),
                     after);
}

}  // namespace qkv
