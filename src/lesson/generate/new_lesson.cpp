#include "lesson/generate/new_lesson.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <stdexcept>

#include "lesson/generate/style.hpp"
#include "ops/operation.hpp"
#include "tensor/memory.hpp"
#include "text/strings.hpp"
#include "tokens/words.hpp"
#include "trace/evaluate.hpp"

namespace qkv::inline lesson {
namespace {

// The placeholders' values for a lesson of these tokens.
using Marks = std::vector<std::pair<std::string_view, std::string>>;

// Explains groups of heads that share their keys.
std::string about_groups(const LessonSizes& sizes) {
  if (sizes.key_heads == sizes.heads) return "";
  return fmt::format(
      " There {} {} of keys for {{h}} heads of queries: {} heads of queries share one. That is "
      "called grouped-query attention, and there is less to keep.",
      sizes.key_heads == 1 ? "is" : "are", pluralise(sizes.key_heads, "head"),
      sizes.heads / sizes.key_heads);
}

std::string about_sharing(const LessonSizes& sizes) {
  const std::size_t group = sizes.heads / sizes.key_heads;
  if (group == 1) return "";
  return fmt::format(" Heads 1 to {} of the queries use head 1 of the keys{}.", group,
                     sizes.key_heads == 1 ? "" : ", the next heads the next one");
}

Marks marks_of(const NewLesson& request, const NewStyle& style, const LessonSizes& sizes,
               const std::vector<std::string>& tokens) {
  const bool has_heads = sizes.heads > 1;
  const bool causal = request.causal || request.style == LessonStyle::llama;
  const std::string head = has_heads ? "head 1," : "";
  std::string sum;
  for (std::size_t j = 1; j <= sizes.d_k; ++j) {
    sum += fmt::format("{0}{{{5}[{1}{2},{4}]}} · {{{6}[{1}{3},{4}]}}", j == 1 ? "" : " + ", head,
                       tokens[1], tokens[0], j, style.query, style.key);
  }
  return {{"<own>", tokens[1]},
          {"<first>", tokens[0]},
          {"<at>", head + tokens[1] + ","},
          {"<head>", head},
          {"<in head>", has_heads ? " in head 1" : ""},
          {"<of heads>", has_heads ? " A head is one round of attention; there are {h}, each with "
                                     "weight matrices of its own."
                                   : ""},
          {"<of shares>", causal ? ". What was minus infinity is exactly 0 now."
                                 : ", and no attention weight is 0."},
          {"<sum>", sum},
          {"<grouped>", about_groups(sizes)},
          {"<sharing>", about_sharing(sizes)},
          {"<further pairs>", sizes.d_k > 4 ? ", 16^(−4/{d_k}) for the third" : ""},
          {"<file>", request.file}};
}

std::string filled_in(std::string_view text, const Marks& marks) {
  std::string result(text);
  for (const auto& [mark, meaning] : marks) {
    for (std::size_t at = 0; (at = result.find(mark, at)) != result.npos; at += meaning.size()) {
      result.replace(at, mark.size(), meaning);
    }
  }
  return result;
}

std::string rows_toml(std::span<const double> cells, std::size_t columns, std::string_view indent) {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); i += columns) {
    text += fmt::format("{}[", indent);
    for (std::size_t j = 0; j < columns; ++j) {
      text += fmt::format("{}{:>2}", j == 0 ? "" : ", ", cells[i + j]);
    }
    text += "],\n";
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

std::string quoted_list(const std::vector<std::string>& names) {
  return names.empty() ? "[]" : fmt::format("[\"{}\"]", fmt::join(names, "\", \""));
}

// Wraps at 100 columns; a live number is not broken.
std::string broken(std::string_view prose) {
  constexpr std::size_t longest = 100;
  std::string text;
  std::size_t column = 0;
  bool in_braces = false;
  std::string word;
  const auto put = [&] {
    if (column > 0 && column + 1 + word.size() > longest) {
      text += '\n';
      column = 0;
    } else if (column > 0) {
      text += ' ';
      ++column;
    }
    text += word;
    column += word.size();
    word.clear();
  };
  for (const char c : prose) {
    if (c == '{') in_braces = true;
    if (c == '}') in_braces = false;
    if (c == ' ' && !in_braces) {
      put();
    } else {
      word += c;
    }
  }
  put();
  return text;
}

// Formats a word or a number for the file.
std::string option_toml(const OptionValue& value) {
  if (const double* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return fmt::format("\"{}\"", std::get<std::string>(value));
}

const StepProse& prose_of(const NewStyle& style, std::string_view step) {
  const auto own = std::ranges::find(style.words, step, &StepProse::step);
  return own != style.words.end() ? *own
                                  : *std::ranges::find(classic_style.words, step, &StepProse::step);
}

std::string step_toml(const StepRecipe& step, const NewStyle& style, const Marks& marks) {
  const StepProse& said = prose_of(style, step.name);
  std::string text = fmt::format("\n[[step]]\nname    = \"{}\"\nop      = \"{}\"\nof      = {}\n",
                                 step.name, step.operation->name, quoted_list(step.of));
  for (const auto& [name, value] : step.options.all()) {
    text += fmt::format("{:<7} = {}\n", name, option_toml(value));
  }
  text += "general = true\n";
  text += fmt::format("say     = \"\"\"\n{}\"\"\"\n", broken(filled_in(said.say, marks)));
  text += fmt::format("notice  = \"\"\"\n{}\"\"\"\n", broken(filled_in(said.notice, marks)));
  if (said.questions.empty()) return text;
  return text + fmt::format("try     = \"\"\"\n{}\"\"\"\n", filled_in(said.questions, marks));
}

constexpr std::string_view how_it_is_written =
    R"(# A lesson file. First the lesson itself; then [[given]], the numbers to start from; then [[step]],
# each with an operation (op) and what it works on (of: givens and steps above it).
#   qkv run FILE         walks it           qkv lint --ops        lists the operations
#   qkv lint FILE        finds its faults   qkv lessons the-fat-cat --source   shows a longer one

)";

constexpr std::string_view about_givens = R"(
# A given has a name and numbers: value = a list of rows, one matrix for each head in a list of its
# own; or randn = [4, 3], eye = 4, file = "w.csv" and others. rows = [..] and columns = [..] name its
# rows and columns.
)";

constexpr std::string_view about_steps = R"(
# Numbers in braces are live: {Q[cat,1]} is a cell, {Q[head 1,2,1]} one with heads, {Q.shape} a size,
# {d_k} a width, {scores.max} the largest number (also min, sum, mean, spread). say is what a step
# tells, notice what to look for in its matrix, try asks at the end. general = true: the words hold
# for any numbers, so they stay when one is changed. A published result goes into [[expect]], with
# of, value and source; lint compares it.
)";

// Returns the command that draws this lesson again.
std::string own_command(const NewLesson& request, const LessonSizes& sizes) {
  const bool is_llama = request.style == LessonStyle::llama;
  return fmt::format("qkv new{} --seed {} --tokens {} --d-model {} --heads {}{}{}",
                     is_llama ? " --style llama" : "", request.seed, request.tokens,
                     request.d_model, request.heads,
                     is_llama ? fmt::format(" --kv-heads {}", sizes.key_heads) : std::string(),
                     request.causal && !is_llama ? " --causal" : "");
}

std::string title_of(const NewLesson& request, const NewStyle& style, const LessonSizes& sizes) {
  const bool is_llama = request.style == LessonStyle::llama;
  return fmt::format("{}: {}{}, {} tokens", style.title,
                     sizes.heads == 1 ? "one head" : fmt::format("{} heads", sizes.heads),
                     request.causal && !is_llama ? ", looking back only" : "", sizes.n);
}

/// Formats a drawn recipe as a lesson file: comments for whoever changes it, prose for every step,
/// and questions at the end.
std::string lesson_text(const NewLesson& request, const NewStyle& style, const LessonSizes& sizes,
                        const Recipe& recipe) {
  std::string text(how_it_is_written);
  text += fmt::format(
      "title   = \"{}\"\n"
      "summary = \"{}\"\n"
      "source  = \"Drawn by {}.\"\n"
      "# The names of the rows of X, and of all that has a row for each token.\n"
      "tokens  = {}\n",
      title_of(request, style, sizes), style.summary, own_command(request, sizes),
      quoted_list(recipe.tokens));
  text += about_givens;
  for (const Given& given : recipe.givens) {
    text += fmt::format("{}[[given]]\nname  = \"{}\"\nvalue = {}\n",
                        &given == recipe.givens.data() ? "" : "\n", given.name,
                        value_toml(given.tensor));
  }
  text += about_steps;
  const Marks marks = marks_of(request, style, sizes, recipe.tokens);
  for (const StepRecipe& step : recipe.steps) {
    const std::string table = step_toml(step, style, marks);
    text += &step == recipe.steps.data() ? table.substr(1) : table;
  }
  return text;
}

// A row of zeros would hide every slip in the matrix that it is multiplied by.
void fill_empty_rows(std::span<double> cells, std::size_t columns) {
  for (std::size_t i = 0; i < cells.size() / columns; ++i) {
    const std::span<double> row = cells.subspan(i * columns, columns);
    if (std::ranges::all_of(row, [](double x) { return x == 0; })) row[i % columns] = 1;
  }
}

}  // namespace

Tensor drawn_weight(const Shape& shape, Dice& dice) {
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

std::size_t zero_rows(const Tensor& tensor) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < tensor.values.size(); i += tensor.columns()) {
    const auto row = std::span(tensor.values).subspan(i, tensor.columns());
    if (std::ranges::all_of(row, [](double x) { return x == 0; })) ++count;
  }
  return count;
}

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

std::size_t larger_than(const Tensor& tensor, double largest) {
  return static_cast<std::size_t>(std::ranges::count_if(
      tensor.values, [&](double value) { return std::abs(value) > largest; }));
}

std::size_t lopsided_weights(const Tensor& weights) {
  constexpr double nearly_all = 0.985;
  constexpr double nearly_nothing = 0.002;
  return static_cast<std::size_t>(std::ranges::count_if(weights.values, [&](double weight) {
    return (weight > nearly_all && weight < 1) || (weight > 0 && weight < nearly_nothing);
  }));
}

namespace {

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

// Evaluates a drawn recipe. Its faults are those of its numbers, not of the machine's memory.
Evaluation evaluated_draw(const Recipe& recipe) {
  Evaluation result = evaluate_all(recipe);
  for (const StepFault& fault : result.faults) {
    if (fault.message.ends_with(out_of_memory())) throw std::bad_alloc();
  }
  return result;
}

// Counts the mistakes that no numbers could show: the minimum over a few draws with many digits.
std::size_t always_hidden(const Recipe& recipe, Dice& dice, const CountHidden& hidden) {
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

// A drawn recipe and its faults.
struct Drawn {
  Recipe recipe;
  std::size_t penalty = 1'000'000, hidden = 0;

  std::size_t faults() const { return penalty + 10 * hidden; }  // a hidden mistake weighs more
};

// Accepts a higher penalty the longer it takes, but no hidden mistake.
Recipe best_draw(const NewLesson& request, const NewStyle& style, const LessonSizes& sizes,
                 const CountHidden& hidden) {
  Dice dice(request.seed);
  Dice others(request.seed);
  const std::size_t always = always_hidden(style.draw(request, sizes, others), others, hidden);
  Drawn best;
  const auto is_good = [&](std::size_t draws) {
    return best.hidden <= always && best.penalty <= draws / style.draws_per_penalty;
  };
  for (std::size_t k = 0; k < style.most_draws && !is_good(k); ++k) {
    Drawn one{style.draw(request, sizes, dice)};
    const Evaluation evaluation = evaluated_draw(one.recipe);
    if (!evaluation.faults.empty()) continue;  // a row of zeros that a norm would divide by 0
    one.penalty = style.penalty(evaluation.trace);
    if (one.faults() < best.faults()) one.hidden = hidden(evaluation.trace);
    if (one.faults() < best.faults()) best = std::move(one);
  }
  return std::move(best.recipe);
}

void refuse_sizes(const NewLesson& request) {
  const bool good = request.tokens >= fewest_tokens && request.tokens <= most_tokens &&
                    request.d_model >= smallest_d_model && request.d_model <= largest_d_model &&
                    request.heads >= 1 && request.heads <= most_heads &&
                    (request.key_heads == 0 || request.heads % request.key_heads == 0);
  if (!good) throw std::logic_error("new_lesson: a size is out of bounds");
}

}  // namespace

std::vector<std::string> sentence_of(std::size_t tokens) {
  return words_of(sentences[tokens - fewest_tokens]);
}

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
