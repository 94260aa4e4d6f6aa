#include "lesson/generate/new_lesson.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <utility>

#include "lesson/generate/new_lesson_text.hpp"
#include "lesson/generate/style.hpp"
#include "trace/evaluate.hpp"

namespace qkv {
namespace {

// A sentence for each number of tokens, no word twice: a word can then stand for its row.
constexpr std::string_view sentences[] = {
    "rain falls",
    "the cat sleeps",
    "a small bird sings",
    "the dog chases our cat",
    "we read books while it rains",
    "my brother plants tomatoes behind the house",
    "the old clock stopped when nobody was there",
    "every morning two boats leave with nets and bread",
    "on quiet nights you can hear waves break against stones",
};
static_assert(std::size(sentences) == most_tokens - fewest_tokens + 1);

std::vector<std::string> words_of(std::string_view sentence) {
  std::vector<std::string> words(1);
  for (const char c : sentence) {
    if (c == ' ') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

// How many mistakes no numbers could show: the fewest that a few draws with many digits hide.
std::size_t always_hidden(const Recipe& recipe, Dice& dice, const CountHidden& hidden) {
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (const double largest : {1.0, 1.5, 2.0}) {
    Recipe other = recipe;
    for (Given& given : other.givens) {
      for (double& value : given.tensor.values.write()) value = largest * dice.any_number();
    }
    const Evaluation evaluation = evaluate_all(other);
    if (evaluation.faults.empty()) fewest = std::min(fewest, hidden(evaluation.trace));
  }
  return fewest;
}

// A draw, and what speaks against it.
struct Drawn {
  Recipe recipe;
  std::size_t nuisances = 1'000'000, hidden = 0;

  std::size_t faults() const { return nuisances + 10 * hidden; }  // one that hides weighs more
};

// The longer it takes, the more nuisances are put up with, but no mistake that hides.
Recipe best_draw(const NewLesson& wishes, const NewStyle& style, const LessonSizes& sizes,
                 const CountHidden& hidden) {
  Dice dice(wishes.seed);
  Dice others(wishes.seed);
  const std::size_t always = always_hidden(style.draw(wishes, sizes, others), others, hidden);
  Drawn best;
  const auto is_good = [&](std::size_t draws) {
    return best.hidden <= always && best.nuisances <= draws / style.patience;
  };
  for (std::size_t k = 0; k < style.most_draws && !is_good(k); ++k) {
    Drawn one{style.draw(wishes, sizes, dice)};
    const Evaluation evaluation = evaluate_all(one.recipe);
    if (!evaluation.faults.empty()) continue;  // a row of zeros that a norm would divide by 0
    one.nuisances = style.nuisances(evaluation.trace);
    if (one.faults() < best.faults()) one.hidden = hidden(evaluation.trace);
    if (one.faults() < best.faults()) best = std::move(one);
  }
  return std::move(best.recipe);
}

void refuse_sizes(const NewLesson& wishes) {
  const bool good = wishes.tokens >= fewest_tokens && wishes.tokens <= most_tokens &&
                    wishes.d_model >= smallest_d_model && wishes.d_model <= largest_d_model &&
                    wishes.heads >= 1 && wishes.heads <= most_heads &&
                    (wishes.key_heads == 0 || wishes.heads % wishes.key_heads == 0);
  if (!good) throw std::logic_error("new_lesson: a size is out of bounds");
}

}  // namespace

std::vector<std::string> sentence_of(std::size_t tokens) {
  return words_of(sentences[tokens - fewest_tokens]);
}

Options option(const std::string& name, OptionValue value) {
  Options options;
  options.set(name, std::move(value));
  return options;
}

NewLesson usual_lesson(LessonStyle style) {
  if (style == LessonStyle::classic) return {};
  return {.style = style, .tokens = 3, .d_model = 6, .heads = 2, .causal = true};
}

std::string new_lesson(const NewLesson& wishes, const CountHidden& hidden) {
  refuse_sizes(wishes);
  const NewStyle& style = wishes.style == LessonStyle::llama ? llama_style : classic_style;
  const LessonSizes sizes = style.sizes(wishes);
  return lesson_text(wishes, style, sizes, best_draw(wishes, style, sizes, hidden));
}

}  // namespace qkv
