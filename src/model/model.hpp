#pragma once

#include "model/architecture.hpp"
#include "trace/trace.hpp"

namespace qkv::inline model {

/// The user's choice of tokens.
struct TokeniserChoice {
  std::vector<std::string> vocabulary;             ///< one token for each id from 0; or
  std::optional<std::filesystem::path> tokenizer;  ///< tokenizer.json, or a directory with one, or
                                                   ///< with vocab.json and merges.txt
};

/// How the text is split into the model's tokens: the options of `tokenise`, and the words, if they
/// are few enough to list.
struct Tokeniser {
  Options options;
  std::vector<std::string> vocabulary;  ///< for `tokenise`; empty for byte pairs
  AxisLabels labels = {};               ///< text of each id; empty: unknown
};

/// Which model to read, and the user's choices.
struct ModelChoice {
  std::filesystem::path file;
  std::string where;                              ///< the file as named in messages
  std::optional<std::string_view> built_in = {};  ///< its bytes, if it is part of the program
  ArchitectureChoice architecture;
  TokeniserChoice tokeniser;
  std::optional<std::size_t> layers = {};    ///< only the first layers, without the final steps
  std::optional<std::size_t> enough_layers;  ///< layers that hold all that is requested
};

/// A trained model as a recipe: its weights are givens.
struct Model {
  Architecture architecture;
  std::string title;   ///< "A trained transformer: 3 layers of 3 heads, d_model 48, …"
  std::string source;  ///< origin of the weights, if the file says so
  Recipe recipe;       ///< without the text
  AxisLabels tokens;   ///< text of each id; empty if unknown
};

/// Reads a decoder-only transformer as steps (`X`, `h0.norm1`, `h0.Q`, …, `probabilities`). GPT-2's
/// relatives (Radford et al. 2019) have pre-norm layers, learned positions and a causal mask. The
/// givens are `token_table`, `position_table`, each layer's `h0.W_Q` (heads × d_model × d_k),
/// `h0.b_Q`, … `h0.W_O`, `h0.W_in`, `h0.W_out` with biases, the norms' gains, and `W_logits`.
/// Throws InputError like Weights and architecture_of, and if a named file is no tokeniser or there
/// are more words than ids.
Model read_model(const ModelChoice& choice);

/// Adds the weights and steps of the first `layers` layers to `model.recipe`, and the final
/// steps if these are all layers. If the first `enough` of them suffice, the rest is counted
/// (`Recipe::omitted_steps`), not read.
void build_recipe(Model& model, const Weights& weights, const Tokeniser& tokeniser,
                  std::size_t layers, std::size_t enough);

}  // namespace qkv::inline model
