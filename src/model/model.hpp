#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "model/architecture.hpp"
#include "model/model_words.hpp"
#include "model/tokeniser.hpp"
#include "trace/recipe.hpp"

namespace qkv {

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

}  // namespace qkv
