#include "lesson/generate/new_lesson.hpp"

#include <numeric>
#include <random>

#include "lesson/library.hpp"
#include "tokens/tokens.hpp"

namespace qkv::inline lesson {
namespace {

/// Random small integers, the same on every machine: the standard fixes mt19937's output, but not
/// that of its distributions.
struct LessonDice {
  std::mt19937 engine;

  std::size_t below(std::size_t count) { return engine() % count; }
  double pick(std::span<const double> from) { return from[below(from.size())]; }
  /// Returns a number between -1 and 1 with many digits.
  double any_number() {
    return 2 * static_cast<double>(engine()) / static_cast<double>(std::mt19937::max()) - 1;
  }
};

/// The sizes of a new lesson's matrices.
struct LessonSizes {
  std::size_t n, d_model, heads, key_heads, d_k, d_ff = 0;
};

/// A style of lesson that can be generated. Its words and steps are in lessons/words/new-lesson.in.
struct NewStyle {
  std::string_view word;  ///< of the parts that are for it
  LessonSizes (*sizes)(const NewLesson&);
  std::vector<Given> (*draw)(const LessonSizes&, LessonDice&);
  /// Returns how unsuitable the numbers of a draw are for hand work and for learning.
  std::size_t (*penalty)(const Trace&);
  std::string_view query, key;                ///< the steps whose rows are multiplied to scores
  std::size_t most_draws, draws_per_penalty;  ///< draws before one more penalty is accepted
};

// A row of zeros would hide every slip in the matrix that it is multiplied by.
void fill_empty_rows(std::span<double> cells, std::size_t columns) {
  for (std::size_t i = 0; i < cells.size() / columns; ++i) {
    const std::span<double> row = cells.subspan(i * columns, columns);
    if (std::ranges::all_of(row, [](double x) { return x == 0; })) row[i % columns] = 1;
  }
}

// Draws a weight with two or three nonzero numbers per column and no zero row. A product then has
// as many terms for any model width.
Tensor drawn_weight(const Shape& shape, LessonDice& dice) {
  constexpr std::array<double, 4> likely = {-1, 1, 1, 2};
  Tensor tensor = tensor_of(shape, std::vector<double>(element_count(shape, "a weight")));
  for (std::size_t m = 0; m < tensor.matrices(); ++m) {
    const std::span<double> cells = tensor.mutable_cells(m);
    for (std::size_t j = 0; j < tensor.columns(); ++j) {
      const std::size_t terms = 2 + dice.below(2);
      for (std::size_t t = 0; t < terms; ++t) {
        cells[dice.below(tensor.rows()) * tensor.columns() + j] = dice.pick(likely);
      }
    }
    fill_empty_rows(cells, tensor.columns());
  }
  return tensor;
}

// True if two rows of the first matrix are equal.
bool has_equal_rows(const Tensor& tensor) {
  const std::size_t columns = tensor.columns();
  for (std::size_t i = 0; i < tensor.rows(); ++i) {
    const auto row = tensor.cells(0).subspan(i * columns, columns);
    for (std::size_t k = 0; k < i; ++k) {
      if (std::ranges::equal(row, tensor.cells(0).subspan(k * columns, columns))) return true;
    }
  }
  return false;
}

// Returns the number of rows of zeros, which leave nothing to calculate.
std::size_t zero_rows(const Tensor& tensor) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < tensor.values.size(); i += tensor.columns()) {
    const auto row = std::span(tensor.values).subspan(i, tensor.columns());
    if (std::ranges::all_of(row, [](double x) { return x == 0; })) ++count;
  }
  return count;
}

// Returns the number of equal pairs within columns: exchanging them would go unnoticed.
std::size_t equal_pairs(const Tensor& tensor) {
  constexpr double nearly = 1e-9;
  std::size_t count = 0;
  for (std::size_t m = 0; m < tensor.matrices(); ++m) {
    for (std::size_t j = 0; j < tensor.columns(); ++j) {
      for (std::size_t i = 1; i < tensor.rows(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
          count += std::abs(tensor.at(m, i, j) - tensor.at(m, k, j)) < nearly ? 1 : 0;
        }
      }
    }
  }
  return count;
}

// Returns how many numbers have an absolute value above `largest`.
std::size_t larger_than(const Tensor& tensor, double largest) {
  return static_cast<std::size_t>(std::ranges::count_if(
      tensor.values, [&](double value) { return std::abs(value) > largest; }));
}

// Returns how many attention weights are near 0 or near 1; exactly 0 and 1 do not count.
std::size_t lopsided_weights(const Tensor& weights) {
  constexpr double nearly_all = 0.985;
  constexpr double nearly_nothing = 0.002;
  return static_cast<std::size_t>(std::ranges::count_if(weights.values, [&](double weight) {
    return (weight > nearly_all && weight < 1) || (weight > 0 && weight < nearly_nothing);
  }));
}

// The first d_k, in steps from the least on, with which √d_k, d_k, √d_model and √n are four
// different divisors, and a weight's shape shows whether it is transposed.
std::size_t width_of_queries(const NewLesson& request, std::size_t d_k, std::size_t step) {
  const auto [n, d_model] = std::pair(request.tokens, request.d_model);
  while (d_k == n || d_k == d_model || d_k * d_k == d_model) d_k += step;
  return d_k;
}

// Chooses d_k near d_model's share per head.
LessonSizes sizes_of(const NewLesson& request) {
  const std::size_t share = request.d_model / std::max<std::size_t>(request.heads, 2);
  const std::size_t d_k = width_of_queries(request, std::max<std::size_t>(2, share), 1);
  return {request.tokens, request.d_model, request.heads, request.heads, d_k};
}

Tensor drawn_from(std::initializer_list<double> likely, const Shape& shape, LessonDice& dice) {
  Tensor tensor = tensor_of(shape, std::vector<double>(element_count(shape, "a given")));
  for (double& value : tensor.values.mutable_span()) value = dice.pick(likely);
  return tensor;
}

// Draws a weight that each of so many heads has. In a lesson of one head it has no axis of heads.
Tensor weight_of_heads(std::size_t heads, const LessonSizes& sizes, LessonDice& dice) {
  Shape shape = {heads, sizes.d_model, sizes.d_k};
  if (sizes.heads == 1) shape.erase(shape.begin());
  return drawn_weight(shape, dice);
}

std::vector<Given> drawn_givens(const LessonSizes& sizes, LessonDice& dice) {
  return {{"X", drawn_from({-1, 0, 0, 1, 1, 2, 2}, {sizes.n, sizes.d_model}, dice)},
          {"W_Q", weight_of_heads(sizes.heads, sizes, dice)},
          {"W_K", weight_of_heads(sizes.heads, sizes, dice)},
          {"W_V", weight_of_heads(sizes.heads, sizes, dice)},
          {"W_O", drawn_weight({sizes.heads * sizes.d_k, sizes.d_model}, dice)}};
}

std::size_t unfit_rows(const Trace& trace, std::initializer_list<const char*> names) {
  std::size_t count = 0;
  for (const char* name : names) {
    count += zero_rows(trace.at(name)) + (has_equal_rows(trace.at(name)) ? 1 : 0);
  }
  return count;
}

// The prose uses the first cell of the second row as an example.
std::size_t zeros_in_examples(const Trace& trace, std::initializer_list<const char*> names) {
  return static_cast<std::size_t>(std::ranges::count_if(
      names, [&](const char* name) { return trace.at(name).at(0, 1, 0) == 0; }));
}

// Penalises numbers unfit for hand work: large scores, equal rows, weights with one dominant key,
// and zeros in the cells that the prose uses as examples.
std::size_t penalty(const Trace& trace) {
  constexpr double largest_score = 12;
  const std::size_t count = equal_pairs(trace.at("context")) +
                            zero_rows(transposed(trace.at("X"))) +
                            larger_than(trace.at("scores"), largest_score) +
                            lopsided_weights(trace.at("attention_weights"));
  return count + unfit_rows(trace, {"X", "Q", "K", "V"}) +
         zeros_in_examples(trace, {"Q", "K", "V", "scores"});
}

// d_k is even and at least 4: with only one rotated pair, neither base nor pairing would show.
LessonSizes llama_sizes(const NewLesson& request) {
  const std::size_t key_heads = request.key_heads != 0   ? request.key_heads
                                : request.heads % 2 == 0 ? request.heads / 2
                                                         : 1;
  return {.n = request.tokens,
          .d_model = request.d_model,
          .heads = request.heads,
          .key_heads = key_heads,
          .d_k = width_of_queries(request, 4, 2),
          .d_ff = request.d_model == 3 ? std::size_t{4} : std::size_t{3}};
}

// True if the root mean square of a row is a whole number or ends in a half.
bool has_round_size(std::span<const double> row) {
  const double squares = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
  const double halves = 2 * std::sqrt(squares / static_cast<double>(row.size()));
  return squares > 0 && std::abs(halves - std::round(halves)) < 1e-9;
}

// Redraws a row until its root mean square is round, so that dividing by it works on paper. Rows of
// two or three numbers just must not be 0: those with a round size would be all alike.
void draw_row(std::span<double> row, LessonDice& dice) {
  constexpr std::array<double, 9> likely = {-2, -1, 0, 0, 1, 1, 2, 3, 4};
  constexpr std::size_t fewest_round = 4, most_tries = 200;
  for (std::size_t k = 0; k < most_tries; ++k) {
    for (double& value : row) value = dice.pick(likely);
    if (row.size() < fewest_round ? row[k % row.size()] != 0 : has_round_size(row)) return;
  }
}

Tensor llama_embeddings(const LessonSizes& sizes, LessonDice& dice) {
  std::vector<double> values(sizes.n * sizes.d_model);
  for (std::size_t i = 0; i < sizes.n; ++i) {
    draw_row(std::span(values).subspan(i * sizes.d_model, sizes.d_model), dice);
  }
  return tensor_of({sizes.n, sizes.d_model}, values);
}

Tensor gain(const LessonSizes& sizes, LessonDice& dice) {
  return drawn_from({0.5, 1, 2, 2}, {sizes.d_model}, dice);
}

std::vector<Given> llama_givens(const LessonSizes& sizes, LessonDice& dice) {
  return {{"X", llama_embeddings(sizes, dice)},
          {"gain1", gain(sizes, dice)},
          {"W_Q", weight_of_heads(sizes.heads, sizes, dice)},
          {"W_K", weight_of_heads(sizes.key_heads, sizes, dice)},
          {"W_V", weight_of_heads(sizes.key_heads, sizes, dice)},
          {"W_O", drawn_weight({sizes.heads * sizes.d_k, sizes.d_model}, dice)},
          {"gain2", gain(sizes, dice)},
          {"W_gate", drawn_weight({sizes.d_model, sizes.d_ff}, dice)},
          {"W_up", drawn_weight({sizes.d_model, sizes.d_ff}, dice)},
          {"W_down", drawn_weight({sizes.d_ff, sizes.d_model}, dice)}};
}

// Penalises the same as `penalty`, and gates that are fully closed or open.
std::size_t llama_penalty(const Trace& trace) {
  constexpr double largest_score = 15, largest_gate = 6, largest_result = 30;
  const std::size_t count = zero_rows(transposed(trace.at("X"))) +
                            larger_than(trace.at("scores"), largest_score) +
                            larger_than(trace.at("gate"), largest_gate) +
                            larger_than(trace.at("residual2"), largest_result) +
                            lopsided_weights(trace.at("attention_weights"));
  return count + unfit_rows(trace, {"X", "Q", "K", "V", "gate", "up"}) +
         zeros_in_examples(trace, {"X", "Q", "K", "V", "scores", "gate", "up", "mlp_out"});
}

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
  LessonDice dice{std::mt19937(request.seed)};
  LessonDice others = dice;
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

constexpr NewStyle classic_style{
    .word = "classic",
    .sizes = sizes_of,
    .draw = drawn_givens,
    .penalty = penalty,
    .query = "Q",
    .key = "K",
    .most_draws = 3000,
    .draws_per_penalty = 3000,
};

constexpr NewStyle llama_style{
    .word = "llama",
    .sizes = llama_sizes,
    .draw = llama_givens,
    .penalty = llama_penalty,
    .query = "Q_rope",
    .key = "K_rope",
    .most_draws = 1000,
    .draws_per_penalty = 10,
};

}  // namespace

NewLesson default_lesson(LessonStyle style) {
  if (style == LessonStyle::classic) return {};
  return {.style = style, .tokens = 3, .d_model = 6, .heads = 2, .causal = true};
}

std::string new_lesson(const NewLesson& request, const CountHidden& hidden) {
  const NewStyle& style = request.style == LessonStyle::llama ? llama_style : classic_style;
  const LessonSizes sizes = style.sizes(request);
  return lesson_text(request, style, sizes, best_draw(request, style, sizes, hidden));
}

}  // namespace qkv::inline lesson
