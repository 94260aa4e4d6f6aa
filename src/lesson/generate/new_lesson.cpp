#include "lesson/generate/new_lesson.hpp"

#include "lesson/library.hpp"
#include "tokens/tokens.hpp"

namespace qkv::inline lesson {
namespace {

std::string rows_toml(std::span<const double> cells, std::size_t columns, std::string_view indent) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); i += columns) {
    text += fmt::format("{}[{:>2}],\n", indent, fmt::join(cells.subspan(i, columns), ", "));
  }
  return text;
}

std::string value_toml(const Tensor& tensor) {
  if (tensor.rank() == 1) return fmt::format("[{}]", fmt::join(tensor.values, ", "));
  if (tensor.leading_axes() == 0) {
    return fmt::format("[\n{}]", rows_toml(tensor.values, tensor.columns(), "  "));
  }
  std::string text = "[\n";
  for (std::size_t m = 0; m < tensor.matrices(); ++m) {
    text += fmt::format("  [\n{}  ],\n", rows_toml(tensor.cells(m), tensor.columns(), "    "));
  }
  return text + "]";
}

// Wraps at 100 columns; a live number is not broken.
std::string broken(std::string_view prose) {
  std::string text;
  bool in_braces = false;
  for (const char c : prose) {
    if (c == '{' || c == '}') in_braces = c == '{';
    text += c == ' ' && in_braces ? no_break_space : std::string_view(&c, 1);
  }
  return with_plain_blanks(fmt::format("{}", fmt::join(wrapped(text, 100), "\n")));
}

// Returns the command that draws this lesson again.
std::string own_command(const NewLesson& request, const LessonSizes& sizes) {
  const bool is_llama = request.style == LessonStyle::llama;
  return fmt::format("qkv new{} --seed {} --tokens {} --d-model {} --heads {}{}{}",
                     is_llama ? " --style llama" : "", request.seed, request.tokens,
                     request.d_model, request.heads,
                     is_llama ? fmt::format(" --kv-heads {}", sizes.key_heads) : std::string(),
                     request.causal && !is_llama ? " --causal" : "");
}

// A sentence for each number of tokens, all words different, so that a word identifies its row.
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

// The conditions of the template: its lines between <if WORD> and <end> are for lessons that have
// the word, and such parts may lie in others.
std::set<std::string_view> conditions_of(const NewLesson& request, const NewStyle& style,
                                         const LessonSizes& sizes) {
  const bool causal = request.causal || request.style == LessonStyle::llama;
  std::set<std::string_view> words = {style.word, causal ? "causal" : "full"};
  if (sizes.heads > 1) words.insert("heads");
  if (sizes.key_heads < sizes.heads) words.insert("grouped");
  return words;
}

std::string parts_with(const std::set<std::string_view>& words, std::string_view text) {
  constexpr std::string_view begins = "<if ";
  std::string kept;
  std::vector<bool> open;  // of the parts around a line, whether they are kept
  for (const std::string_view line : split(text, '\n')) {
    if (line == "<end>") {
      open.pop_back();
    } else if (line.starts_with(begins)) {
      open.push_back(words.contains(line.substr(begins.size(), line.size() - begins.size() - 1)));
    } else if (!contains(open, false)) {
      kept.append(line) += '\n';
    }
  }
  kept.pop_back();  // what follows the last line break is no line
  return kept;
}

// What the marks in the template stand for: other text in <>.
using Marks = std::vector<std::pair<std::string, std::string>>;

Marks marks_of(const NewLesson& request, const NewStyle& style, const LessonSizes& sizes,
               const std::vector<std::string>& tokens) {
  const bool has_heads = sizes.heads > 1;
  const bool is_llama = request.style == LessonStyle::llama;
  const std::string head = has_heads ? "head 1," : "";
  std::string sum;
  for (std::size_t j = 1; j <= sizes.d_k; ++j) {
    sum += fmt::format("{0}{{{5}[{1}{2},{4}]}} · {{{6}[{1}{3},{4}]}}", j == 1 ? "" : " + ", head,
                       tokens[1], tokens[0], j, style.query, style.key);
  }
  return {{"<sizes>",  // "2 heads, looking back only, 4 tokens"
           fmt::format("{}{}, {} tokens",
                       sizes.heads == 1 ? "one head" : fmt::format("{} heads", sizes.heads),
                       request.causal && !is_llama ? ", looking back only" : "", sizes.n)},
          {"<command>", own_command(request, sizes)},
          {"<tokens>", fmt::format("[\"{}\"]", fmt::join(tokens, "\", \""))},
          {"<query>", std::string(style.query)},
          {"<key>", std::string(style.key)},
          {"<last scores>", request.causal || is_llama ? "masked_scores" : "scaled_scores"},
          {"<joined>", has_heads ? "concat" : "context"},
          {"<own>", tokens[1]},
          {"<first>", tokens[0]},
          {"<at>", head + tokens[1] + ","},
          {"<head>", head},
          {"<in head>", has_heads ? " in head 1" : ""},
          {"<sum>", sum},
          {"<are key heads>",
           (sizes.key_heads == 1 ? "is " : "are ") + pluralise(sizes.key_heads, "head")},
          {"<group>", fmt::to_string(sizes.heads / sizes.key_heads)},
          {"<next heads>", sizes.key_heads == 1 ? "" : ", the next heads the next one"},
          {"<further pairs>", sizes.d_k > 4 ? ", 16^(−4/{d_k}) for the third" : ""},
          {"<file>", request.file}};
}

// Wraps what steps say and give to notice: marks were filled in.
std::string rewrapped(std::string text) {
  constexpr std::string_view quotes = "\"\"\"";
  for (const std::string_view key : {"\nsay     = ", "\nnotice  = "}) {
    for (std::size_t at = 0; (at = text.find(key, at)) != text.npos;) {
      at += key.size() + quotes.size() + 1;
      const std::size_t end = text.find(quotes, at);
      std::string prose(trimmed(std::string_view(text).substr(at, end - at)));
      std::ranges::replace(prose, '\n', ' ');
      text.replace(at, end - at, broken(prose));
    }
  }
  return text;
}

/// Returns the lesson file with these givens: comments for whoever changes it, prose for every
/// step, and questions at the end.
std::string lesson_text(const NewLesson& request, const NewStyle& style, const LessonSizes& sizes,
                        const std::vector<Given>& givens) {
  const std::string_view whole = LessonFiles(built_in_files()).built_in("new-lesson.in").value();
  std::string text = parts_with(conditions_of(request, style, sizes), whole);
  for (const auto& [mark, meaning] :
       marks_of(request, style, sizes, words_of(sentences[sizes.n - fewest_tokens]))) {
    text = replace_all(text, mark, meaning);
  }
  for (const Given& given : givens) {
    text = replace_all(text, fmt::format("<{}>", given.name), value_toml(given.tensor));
  }
  return rewrapped(std::move(text));
}

// Evaluates a drawn recipe. Its faults are those of its numbers, not of the machine's memory.
Evaluation evaluated_draw(const Recipe& recipe) {
  Evaluation result = evaluate_all(recipe);
  for (const StepFault& fault : result.faults) {
    if (fault.message.ends_with(out_of_memory())) throw std::bad_alloc();
  }
  return result;
}

// Counts the mistakes that no numbers could show: the minimum over a few draws with many digits.
std::size_t always_hidden(const Recipe& recipe, LessonDice& dice, const CountHidden& hidden) {
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (const double largest : {1.0, 1.5, 2.0}) {
    Recipe other = recipe;
    for (Given& given : other.givens) {
      for (double& value : given.tensor.values.mutable_span()) value = largest * dice.any_number();
    }
    const Evaluation evaluation = evaluated_draw(other);
    if (evaluation.faults.empty()) fewest = std::min(fewest, hidden(evaluation.trace));
  }
  return fewest;
}

// Drawn givens and the faults of their numbers.
struct Drawn {
  std::vector<Given> givens;
  std::size_t penalty = 1'000'000, hidden = 0;

  std::size_t faults() const { return penalty + 10 * hidden; }  // a hidden mistake weighs more
};

// Accepts a higher penalty the longer it takes, but no hidden mistake.
std::vector<Given> best_draw(const NewLesson& request, const NewStyle& style,
                             const LessonSizes& sizes, const CountHidden& hidden) {
  LessonDice dice(request.seed);
  LessonDice others(request.seed);
  const std::string any = lesson_text(request, style, sizes, style.draw(sizes, others));
  Recipe recipe = read_lesson(any, request.file, {}).lesson.recipe;
  const std::size_t always = always_hidden(recipe, others, hidden);
  Drawn best;
  const auto is_good = [&](std::size_t draws) {
    return best.hidden <= always && best.penalty <= draws / style.draws_per_penalty;
  };
  for (std::size_t k = 0; k < style.most_draws && !is_good(k); ++k) {
    Drawn one{style.draw(sizes, dice)};
    recipe.givens = one.givens;
    const Evaluation evaluation = evaluated_draw(recipe);
    if (!evaluation.faults.empty()) continue;  // a row of zeros that a norm would divide by 0
    one.penalty = style.penalty(evaluation.trace);
    if (one.faults() < best.faults()) one.hidden = hidden(evaluation.trace);
    if (one.faults() < best.faults()) best = std::move(one);
  }
  return std::move(best.givens);
}

void refuse_sizes(const NewLesson& request) {
  const bool good = request.tokens >= fewest_tokens && request.tokens <= most_tokens &&
                    request.d_model >= smallest_d_model && request.d_model <= largest_d_model &&
                    request.heads >= 1 && request.heads <= most_heads &&
                    (request.key_heads == 0 || request.heads % request.key_heads == 0);
  if (!good) throw std::logic_error("new_lesson: a size is out of bounds");
}

}  // namespace

NewLesson default_lesson(LessonStyle style) {
  if (style == LessonStyle::classic) return {};
  return {.style = style, .tokens = 3, .d_model = 6, .heads = 2, .causal = true};
}

std::string new_lesson(const NewLesson& request, const CountHidden& hidden) {
  refuse_sizes(request);
  const NewStyle& style = request.style == LessonStyle::llama ? llama_style : classic_style;
  const LessonSizes sizes = style.sizes(request);
  return lesson_text(request, style, sizes, best_draw(request, style, sizes, hidden));
}

}  // namespace qkv::inline lesson
