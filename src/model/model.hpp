#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/architecture.hpp"
#include "model/weights.hpp"
#include "model/words.hpp"
#include "ops/options.hpp"
#include "tensor/tensor.hpp"
#include "trace/recipe.hpp"

namespace qkv::inline model {

/// What a person says of the tokens that a model reads.
struct TokeniserChoice {
  std::vector<std::string> vocabulary;             ///< one token for each id from 0; or
  std::optional<std::filesystem::path> tokenizer;  ///< tokenizer.json, or a directory with one, or
                                                   ///< with vocab.json and merges.txt
};

/// How the text is cut into the model's tokens: the options of `tokenise`, and the words, if they
/// are few enough to be listed.
struct Tokeniser {
  Options options;
  std::vector<std::string> vocabulary;  ///< for `tokenise`; empty for byte pairs
  AxisLabels labels = {};               ///< a text for each of the model's ids; empty: none known
};

/// The model's tokeniser: as chosen; else as the file's metadata say (`vocabulary`, a JSON list);
/// else from the tokenizer.json, or vocab.json and merges.txt, in the model's directory, if it has
/// one; else the letters
/// A, B, C, … where these are enough; else numbers: the text is then the ids themselves. Throws
/// InputError where a file that was named is none, or the words are more than the model has ids.
Tokeniser tokeniser_of(const Architecture& model, const Config& config,
                       const std::optional<std::filesystem::path>& directory,
                       const TokeniserChoice& choice);

/// Which model is to be walked, and what is said of it beside its file.
struct ModelChoice {
  std::filesystem::path file;
  std::string where;                              ///< the file as messages name it
  std::optional<std::string_view> built_in = {};  ///< its bytes, where they are in the program
  ArchitectureChoice architecture;
  TokeniserChoice tokeniser;
  std::optional<std::size_t> layers;  ///< only the first so many, without what comes after them
  std::optional<std::size_t> enough_layers;  ///< the same, where the model has more than these
};

/// A trained model as a recipe: the weights are its givens, and its steps have words.
struct Model {
  Architecture architecture;
  std::string title;              ///< "A trained GPT: 3 layers of 3 heads, d_model 48"
  std::string source;             ///< where the weights come from, if the file says so
  Recipe recipe;                  ///< without a text
  std::vector<ModelWords> words;  ///< one for each step
  AxisLabels tokens;              ///< what each id stands for; empty where nothing is known
};

/// Lays a decoder-only transformer out as steps (`X`, `h0.norm1`, `h0.Q`, …,
/// `probabilities`), as GPT-2 works (Radford et al. 2019): the norm before each part, learned
/// positions, causal. The givens are `token_table`, `position_table`, each layer's `h0.W_Q` (heads
/// × d_model × d_k), `h0.b_Q`, … `h0.W_O`, `h0.W_in`, `h0.W_out` with their biases and the norms'
/// gains, and `W_logits`. Throws InputError as weights.hpp, architecture.hpp and tokeniser.hpp
/// say.
Model read_model(const ModelChoice& choice);

/// Adds the model's weights as givens and its steps to `model.recipe`, with their words: those of
/// the first `layers` layers, and what comes after the layers only where these are all. Where the
/// first `enough` of them hold all that is wanted, the rest is counted (`Recipe::beyond`), not
/// read.
void build_recipe(Model& model, const Weights& weights, const Tokeniser& tokeniser,
                  std::size_t layers, std::size_t enough);

}  // namespace qkv::inline model
