#include "lesson/new_lesson_text.hpp"

#include <fmt/format.h>

#include <span>
#include <string_view>
#include <vector>

#include "ops/operation.hpp"

namespace qkv {
namespace {

// ---------------------------------------------------------------- the lesson in words

// Writes what is said of a step; live numbers are put in as braces.
class Words {
 public:
  Words(const NewLesson& wishes, const LessonSizes& sizes, const std::vector<std::string>& tokens)
      : wishes_(wishes), sizes_(sizes), tokens_(tokens) {}

  struct Said {
    std::string say, notice;
    std::string questions = {};  // as they stand, not filled into lines
  };

  Said of(std::string_view step) const {
    if (step == "Q") return q();
    if (step == "K") return k();
    if (step == "V") return v();
    if (step == "scores") return scores();
    if (step == "scaled_scores") return scaled();
    if (step == "masked_scores") return masked();
    if (step == "attention_weights") return weights();
    if (step == "context") return context();
    if (step == "concat") return concat();
    return output();
  }

 private:
  // A live cell: the row of the second token, and a column by number or token.
  std::string cell(std::string_view name, std::string_view column) const {
    const bool has_heads = sizes_.heads > 1 && name != "X" && name != "concat" && name != "output";
    return fmt::format("{{{}[{}{},{}]}}", name, has_heads ? "head 1," : "", tokens_[1], column);
  }
  std::string key(std::size_t j) const { return tokens_[j]; }
  std::string in_head() const { return sizes_.heads > 1 ? " in head 1" : ""; }

  Said q() const {
    std::string say = fmt::format(
        "Each token asks a question. Its row of X times W_Q is its query, {{d_k}} numbers. For "
        "\"{}\"{} the first of them is {}.",
        tokens_[1], in_head(), cell("Q", "1"));
    if (sizes_.heads > 1) {
      say += " A head is one round of attention; there are {h}, each with weights of its own.";
    }
    return {say,
            "Q is {Q.shape}: a row for each token, as in X. Only its own row of X went into it."};
  }

  Said k() const {
    return {fmt::format("Each token also says what it has to offer: its row of X times W_K is its "
                        "key. Keys are as wide as queries, because the two will be multiplied. The "
                        "key of \"{}\"{} starts with {}.",
                        tokens_[1], in_head(), cell("K", "1")),
            fmt::format("The query of \"{}\" starts with {}, its key with {}: one row of X, two "
                        "weights.",
                        tokens_[1], cell("Q", "1"), cell("K", "1"))};
  }

  Said v() const {
    return {
        fmt::format("And each token has something to hand over to those who attend to it: its "
                    "value, its row of X times W_V. For \"{}\"{} it starts with {}.",
                    tokens_[1], in_head(), cell("V", "1")),
        "The largest number in V is {V.max}, the smallest {V.min}. Keep them in mind for context."};
  }

  Said scores() const {
    std::string sum;
    for (std::size_t t = 0; t < sizes_.d_k; ++t) {
      const std::string column = std::to_string(t + 1);
      std::string key_cell = cell("K", column);
      const std::string own = tokens_[1];
      key_cell.replace(key_cell.rfind(own + ","), own.size(), tokens_[0]);
      sum += fmt::format("{}{} · {}", t == 0 ? "" : " + ", cell("Q", column), key_cell);
    }
    return {
        fmt::format("A query times a key, number by number and added up, is a score: large "
                    "where the two agree. For \"{}\" and \"{}\"{} it is {} = {}.",
                    tokens_[1], tokens_[0], in_head(), sum, cell("scores", key(0))),
        "The highest score is {scores.max}, the lowest {scores.min}. A row belongs to a query, a "
        "column to a key."};
  }

  Said scaled() const {
    return {
        fmt::format("We divide every score by √d_k, the square root of the width of a query. Here "
                    "d_k is {{d_k}}, and {} becomes {}.",
                    cell("scores", key(0)), cell("scaled_scores", key(0))),
        "The order in each row stays; only the distances shrink. The highest is now "
        "{scaled_scores.max}."};
  }

  Said masked() const {
    return {fmt::format("No token may look at later ones, so what lies above the diagonal becomes "
                        "minus infinity. The row of \"{}\" keeps its first two numbers, {} and {}.",
                        tokens_[1], cell("masked_scores", key(0)), cell("masked_scores", key(1))),
            "The first row keeps one number, the last row all {n}."};
  }

  Said weights() const {
    return {
        fmt::format("Softmax turns each row into shares of 1: raise e to each number, then divide "
                    "by the row's sum. \"{}\" gives {} to \"{}\" and {} to itself.",
                    tokens_[1], cell("attention_weights", key(0)), tokens_[0],
                    cell("attention_weights", key(1))),
        wishes_.causal ? "Each row sums to 1. What was minus infinity is exactly 0 now."
                       : "Each row sums to 1, and no weight is 0: everybody is heard a little."};
  }

  Said context() const {
    return {
        fmt::format("Each token adds up the values, each times its weight. What \"{}\" has heard{} "
                    "starts with {}.",
                    tokens_[1], in_head(), cell("context", "1")),
        "All of it lies between the smallest and the largest value: from {context.min} to "
        "{context.max}, where V went from {V.min} to {V.max}."};
  }

  Said concat() const {
    return {"The heads go side by side, head 1 first: {concat.shape}. Nothing is computed here.",
            fmt::format("The row of \"{}\" starts with {}, as its row in head 1 did.", tokens_[1],
                        cell("concat", "1"))};
  }

  // The last step ends the lesson: what to try, each with its command.
  Said output() const {
    return {
        fmt::format("A last weight, W_O, mixes what was heard and takes it back to the width of X, "
                    "{{d_model}}. \"{}\" ends with {} in its first column.",
                    tokens_[1], cell("output", "1")),
        fmt::format("The output has the shape of X, {{output.shape}}. In X, \"{}\" had {} there.",
                    tokens_[1], cell("X", "1")),
        fmt::format("How does one score come about?\n\n"
                    "    qkv explain {} 'scores[{}2,1]'\n\n"
                    "Which rows of the output change if the first number of X does?\n\n"
                    "    qkv run {} --set 'X[1,1]=3' --step output\n\n"
                    "And now by hand, on paper or in a spreadsheet:\n\n"
                    "    qkv worksheet {} -o mine",
                    wishes_.file, sizes_.heads > 1 ? "head 1," : "", wishes_.file, wishes_.file)};
  }

  const NewLesson& wishes_;
  const LessonSizes& sizes_;
  const std::vector<std::string>& tokens_;
};

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

std::string quoted_list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", word);
  return "[" + text + "]";
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

std::string step_toml(const StepRecipe& step, const Words::Said& said) {
  std::string text = fmt::format("\n[[step]]\nname   = \"{}\"\nop     = \"{}\"\nof     = {}\n",
                                 step.name, step.operation->name, quoted_list(step.of));
  for (const auto& [name, value] : step.options.all()) {
    text += fmt::format("{:<6} = \"{}\"\n", name, std::get<std::string>(value));
  }
  text += fmt::format("say    = \"\"\"\n{}\"\"\"\n", broken(said.say));
  text += fmt::format("notice = \"\"\"\n{}\"\"\"\n", broken(said.notice));
  if (!said.questions.empty()) text += fmt::format("try    = \"\"\"\n{}\"\"\"\n", said.questions);
  return text;
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
# tells, notice what to look for in its matrix, try asks at the end. A published result goes into [[expect]], with of,
# value and source; lint compares it.
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
  const Words words(wishes, sizes, recipe.tokens);
  for (const StepRecipe& step : recipe.steps) {
    const std::string table = step_toml(step, words.of(step.name));
    text += &step == recipe.steps.data() ? table.substr(1) : table;
  }
  return text;
}

}  // namespace qkv
