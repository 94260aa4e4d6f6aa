#include "lesson/new_lesson_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/operation.hpp"

namespace qkv {
namespace {

// ---------------------------------------------------------------- the lesson in words

// What is said of a step. Braces are live numbers; what stands in <> is put in here.
struct Said {
  std::string_view step, say, notice;
  std::string_view questions = {};  // as they stand, not filled into lines
};

constexpr Said words[] = {
    {"Q",
     "Each token asks a question. Its row of X times W_Q is its query, {d_k} numbers. For "
     "\"<own>\"<in head> the first of them is {Q[<at>1]}.<of heads>",
     "Q is {Q.shape}: a row for each token, as in X. Only its own row of X went into it."},
    {"K",
     "Each token also says what it has to offer: its row of X times W_K is its key. Keys are as "
     "wide as queries, because the two will be multiplied. The key of \"<own>\"<in head> starts "
     "with {K[<at>1]}.",
     "The query of \"<own>\" starts with {Q[<at>1]}, its key with {K[<at>1]}: one row of X, two "
     "weights."},
    {"V",
     "And each token has something to hand over to those who attend to it: its value, its row of X "
     "times W_V. For \"<own>\"<in head> it starts with {V[<at>1]}.",
     "The largest number in V is {V.max}, the smallest {V.min}. Keep them in mind for context."},
    {"scores",
     "A query times a key, number by number and added up, is a score: large where the two agree. "
     "For \"<own>\" and \"<first>\"<in head> it is <sum> = {scores[<at><first>]}.",
     "The highest score is {scores.max}, the lowest {scores.min}. A row belongs to a query, a "
     "column to a key."},
    {"scaled_scores",
     "We divide every score by √d_k, the square root of the width of a query. Here d_k is {d_k}, "
     "and {scores[<at><first>]} becomes {scaled_scores[<at><first>]}.",
     "The order in each row stays; only the distances shrink. The highest is now "
     "{scaled_scores.max}."},
    {"masked_scores",
     "No token may look at later ones, so what lies above the diagonal becomes minus infinity. The "
     "row of \"<own>\" keeps its first two numbers, {masked_scores[<at><first>]} and "
     "{masked_scores[<at><own>]}.",
     "The first row keeps one number, the last row all {n}."},
    {"attention_weights",
     "Softmax turns each row into shares of 1: raise e to each number, then divide by the row's "
     "sum. \"<own>\" gives {attention_weights[<at><first>]} to \"<first>\" and "
     "{attention_weights[<at><own>]} to itself.",
     "Each row sums to 1<of shares>"},
    {"context",
     "Each token adds up the values, each times its weight. What \"<own>\" has heard<in head> "
     "starts with {context[<at>1]}.",
     "All of it lies between the smallest and the largest value: from {context.min} to "
     "{context.max}, where V went from {V.min} to {V.max}."},
    {"concat", "The heads go side by side, head 1 first: {concat.shape}. Nothing is computed here.",
     "The row of \"<own>\" starts with {concat[<own>,1]}, as its row in head 1 did."},
    {"output",
     "A last weight, W_O, mixes what was heard and takes it back to the width of X, {d_model}. "
     "\"<own>\" ends with {output[<own>,1]} in its first column.",
     "The output has the shape of X, {output.shape}. In X, \"<own>\" had {X[<own>,1]} there.",
     "How does one score come about?\n\n"
     "    qkv explain <file> 'scores[<head>2,1]'\n\n"
     "Which rows of the output change if the first number of X does?\n\n"
     "    qkv run <file> --set 'X[1,1]=3' --step output\n\n"
     "And now by hand, on paper or in a spreadsheet:\n\n"
     "    qkv worksheet <file> -o mine"},
};

// What the marks stand for in a lesson of these tokens.
using Marks = std::vector<std::pair<std::string_view, std::string>>;

Marks marks_of(const NewLesson& wishes, const LessonSizes& sizes,
               const std::vector<std::string>& tokens) {
  const bool has_heads = sizes.heads > 1;
  const std::string head = has_heads ? "head 1," : "";
  std::string sum;
  for (std::size_t j = 1; j <= sizes.d_k; ++j) {
    sum += fmt::format("{0}{{Q[{1}{2},{4}]}} · {{K[{1}{3},{4}]}}", j == 1 ? "" : " + ", head,
                       tokens[1], tokens[0], j);
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
          {"<of shares>", wishes.causal ? ". What was minus infinity is exactly 0 now."
                                        : ", and no weight is 0: everybody is heard a little."},
          {"<sum>", sum},
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
      text += fmt::format("{}{:2}", j == 0 ? "" : ", ", static_cast<int>(cells[i + j]));
    }
    text += "],\n";
  }
  return text;
}

std::string value_toml(const Tensor& tensor) {
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

std::string step_toml(const StepRecipe& step, const Marks& marks) {
  const Said& said = *std::ranges::find(words, step.name, &Said::step);
  std::string text = fmt::format("\n[[step]]\nname    = \"{}\"\nop      = \"{}\"\nof      = {}\n",
                                 step.name, step.operation->name, quoted_list(step.of));
  for (const auto& [name, value] : step.options.all()) {
    text += fmt::format("{:<7} = \"{}\"\n", name, std::get<std::string>(value));
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

}  // namespace

std::string lesson_text(const NewLesson& wishes, const LessonSizes& sizes, const Recipe& recipe) {
  std::string text(how_it_is_written);
  text += fmt::format(
      "title   = \"Attention by hand: {}{}, {} tokens\"\n"
      "summary = \"Small whole numbers to work through with pencil and paper, chosen so that a "
      "slip shows.\"\n"
      "source  = \"Drawn by qkv new --seed {} --tokens {} --d-model {} --heads {}{}.\"\n"
      "# The names of the rows of X, and of all that has a row for each token.\n"
      "tokens  = {}\n",
      sizes.heads == 1 ? "one head" : fmt::format("{} heads", sizes.heads),
      wishes.causal ? ", looking back only" : "", sizes.n, wishes.seed, wishes.tokens,
      wishes.d_model, wishes.heads, wishes.causal ? " --causal" : "", quoted_list(recipe.tokens));
  text += about_givens;
  for (const Given& given : recipe.givens) {
    text += fmt::format("{}[[given]]\nname  = \"{}\"\nvalue = {}\n",
                        &given == recipe.givens.data() ? "" : "\n", given.name,
                        value_toml(given.tensor));
  }
  text += about_steps;
  const Marks marks = marks_of(wishes, sizes, recipe.tokens);
  for (const StepRecipe& step : recipe.steps) {
    const std::string table = step_toml(step, marks);
    text += &step == recipe.steps.data() ? table.substr(1) : table;
  }
  return text;
}

}  // namespace qkv
