#include <algorithm>
#include <array>
#include <vector>

#include "lesson/generate/style.hpp"
#include "ops/catalogue.hpp"
#include "trace/trace.hpp"

namespace qkv {
namespace {

// The queries' width: what the heads share of d_model, but such that dividing by √d_k, by d_k and
// by √d_model are three different things, and a weight's shape shows which way round it is.
LessonSizes sizes_of(const NewLesson& wishes) {
  const std::size_t share = wishes.d_model / std::max<std::size_t>(wishes.heads, 2);
  std::size_t d_k = std::max<std::size_t>(2, share);
  while (d_k == wishes.d_model || d_k * d_k == wishes.d_model) ++d_k;
  return {wishes.tokens, wishes.d_model, wishes.heads, wishes.heads, d_k};
}

Tensor embeddings(const LessonSizes& sizes, Dice& dice) {
  constexpr std::array<double, 7> likely = {-1, 0, 0, 1, 1, 2, 2};
  std::vector<double> values(sizes.n * sizes.d_model);
  for (double& value : values) value = dice.pick(likely);
  return tensor_of({sizes.n, sizes.d_model}, std::move(values));
}

Recipe draw(const NewLesson& wishes, const LessonSizes& sizes, Dice& dice) {
  const auto shape = [&](std::size_t rows, std::size_t columns) {
    return sizes.heads == 1 ? Shape{rows, columns} : Shape{sizes.heads, rows, columns};
  };
  Recipe recipe;
  recipe.tokens = sentence_of(sizes.n);
  recipe.givens.push_back({"X", embeddings(sizes, dice)});
  for (const char* name : {"W_Q", "W_K", "W_V"}) {
    recipe.givens.push_back({name, drawn_weight(shape(sizes.d_model, sizes.d_k), dice)});
  }
  recipe.givens.push_back({"W_O", drawn_weight({sizes.heads * sizes.d_k, sizes.d_model}, dice)});
  recipe.steps = {
      {"Q", &project_operation, {"X", "W_Q"}, {}},
      {"K", &project_operation, {"X", "W_K"}, {}},
      {"V", &project_operation, {"X", "W_V"}, {}},
      {"scores", &score_operation, {"Q", "K"}, {}},
      {"scaled_scores", &scale_operation, {"scores"}, option("by", "sqrt(d_k)")},
  };
  if (wishes.causal) {
    recipe.steps.push_back(
        {"masked_scores", &mask_operation, {"scaled_scores"}, option("kind", "causal")});
  }
  recipe.steps.push_back({"attention_weights", &softmax_operation, {recipe.steps.back().name}, {}});
  recipe.steps.push_back({"context", &weighted_sum_operation, {"attention_weights", "V"}, {}});
  if (sizes.heads > 1) recipe.steps.push_back({"concat", &concat_heads_operation, {"context"}, {}});
  recipe.steps.push_back({"output", &project_operation, {recipe.steps.back().name, "W_O"}, {}});
  return recipe;
}

// Numbers that a person can work with: scores of a few units, rows that differ, and weights in
// which more than one key has a say. What the words take for their example is not 0.
std::size_t nuisances(const Trace& trace) {
  constexpr double largest_score = 12;
  std::size_t count = equal_pairs(trace.at("context")) + zero_rows(transposed(trace.at("X"))) +
                      larger_than(trace.at("scores"), largest_score) +
                      lopsided_weights(trace.at("attention_weights"));
  for (const char* name : {"X", "Q", "K", "V"}) {
    count += zero_rows(trace.at(name)) + (has_equal_rows(trace.at(name)) ? 1 : 0);
  }
  for (const char* name : {"Q", "K", "V", "scores"}) {
    if (trace.at(name).at(0, 1, 0) == 0) ++count;
  }
  return count;
}

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

}  // namespace

constinit const NewStyle classic_style{
    .title = "Attention by hand",
    .summary =
        "Small whole numbers to work through with pencil and paper, chosen so that a slip "
        "shows.",
    .sizes = sizes_of,
    .draw = draw,
    .nuisances = nuisances,
    .words = words,
    .query = "Q",
    .key = "K",
    .most_draws = 3000,
    .patience = 3000,
};

}  // namespace qkv
