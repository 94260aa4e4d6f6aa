#include "lesson/generate/new_lesson_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/operation.hpp"
#include "text/counted.hpp"

namespace qkv {
namespace {

// ---------------------------------------------------------------- the lesson in words

// What the marks stand for in a lesson of these tokens.
using Marks = std::vector<std::pair<std::string_view, std::string>>;

// What is said of groups where heads share their keys.
std::string about_groups(const LessonSizes& sizes) {
  if (sizes.key_heads == sizes.heads) return "";
  return fmt::format(
      " There {} {} of keys for {{h}} heads of queries: {} heads of queries share one. That is "
      "called grouped-query attention, and there is less to keep.",
      sizes.key_heads == 1 ? "is" : "are", counted(sizes.key_heads, "head"),
      sizes.heads / sizes.key_heads);
}

std::string about_sharing(const LessonSizes& sizes) {
  const std::size_t group = sizes.heads / sizes.key_heads;
  if (group == 1) return "";
  return fmt::format(" Heads 1 to {} of the queries meet head 1 of the keys{}.", group,
                     sizes.key_heads == 1 ? "" : ", the next heads the next one");
}

Marks marks_of(const NewLesson& wishes, const NewStyle& style, const LessonSizes& sizes,
               const std::vector<std::string>& tokens) {
  const bool has_heads = sizes.heads > 1;
  const bool causal = wishes.causal || wishes.style == LessonStyle::llama;
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
          {"<of heads>",
           has_heads ? " A head is one round of attention; there are {h}, each with weights of its "
                       "own."
                     : ""},
          {"<of shares>", causal ? ". What was minus infinity is exactly 0 now."
                                 : ", and no weight is 0: everybody is heard a little."},
          {"<sum>", sum},
          {"<grouped>", about_groups(sizes)},
          {"<sharing>", about_sharing(sizes)},
          {"<further pairs>", sizes.d_k > 4 ? ", 16^(−4/{d_k}) for the third" : ""},
          {"<file>", wishes.file}};
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

// ---------------------------------------------------------------- the file

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

// Words broken into lines of at most 100 columns; a live number is not broken.
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

// A word or a number, as it stands in a file.
std::string option_toml(const OptionValue& value) {
  if (const double* number = std::get_if<double>(&value)) return fmt::format("{}", *number);
  return fmt::format("\"{}\"", std::get<std::string>(value));
}

const Said& said_of(const NewStyle& style, std::string_view step) {
  const auto own = std::ranges::find(style.words, step, &Said::step);
  return own != style.words.end() ? *own
                                  : *std::ranges::find(classic_style.words, step, &Said::step);
}

std::string step_toml(const StepRecipe& step, const NewStyle& style, const Marks& marks) {
  const Said& said = said_of(style, step.name);
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

// The command that draws the lesson again.
std::string own_command(const NewLesson& wishes, const LessonSizes& sizes) {
  const bool is_llama = wishes.style == LessonStyle::llama;
  return fmt::format("qkv new{} --seed {} --tokens {} --d-model {} --heads {}{}{}",
                     is_llama ? " --style llama" : "", wishes.seed, wishes.tokens, wishes.d_model,
                     wishes.heads,
                     is_llama ? fmt::format(" --kv-heads {}", sizes.key_heads) : std::string(),
                     wishes.causal && !is_llama ? " --causal" : "");
}

std::string title_of(const NewLesson& wishes, const NewStyle& style, const LessonSizes& sizes) {
  const bool is_llama = wishes.style == LessonStyle::llama;
  return fmt::format("{}: {}{}, {} tokens", style.title,
                     sizes.heads == 1 ? "one head" : fmt::format("{} heads", sizes.heads),
                     wishes.causal && !is_llama ? ", looking back only" : "", sizes.n);
}

}  // namespace

std::string lesson_text(const NewLesson& wishes, const NewStyle& style, const LessonSizes& sizes,
                        const Recipe& recipe) {
  std::string text(how_it_is_written);
  text += fmt::format(
      "title   = \"{}\"\n"
      "summary = \"{}\"\n"
      "source  = \"Drawn by {}.\"\n"
      "# The names of the rows of X, and of all that has a row for each token.\n"
      "tokens  = {}\n",
      title_of(wishes, style, sizes), style.summary, own_command(wishes, sizes),
      quoted_list(recipe.tokens));
  text += about_givens;
  for (const Given& given : recipe.givens) {
    text += fmt::format("{}[[given]]\nname  = \"{}\"\nvalue = {}\n",
                        &given == recipe.givens.data() ? "" : "\n", given.name,
                        value_toml(given.tensor));
  }
  text += about_steps;
  const Marks marks = marks_of(wishes, style, sizes, recipe.tokens);
  for (const StepRecipe& step : recipe.steps) {
    const std::string table = step_toml(step, style, marks);
    text += &step == recipe.steps.data() ? table.substr(1) : table;
  }
  return text;
}

}  // namespace qkv
