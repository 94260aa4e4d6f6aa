#include "model/model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/layout_piece.hpp"
#include "text/counted.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

std::string_view gate_words(const Architecture& model) {
  if (model.gelu == "erf") return model.llama ? "gates by exact GELU" : "exact GELU";
  if (model.gelu == "tanh") return model.llama ? "gates by tanh's GELU" : "GELU by tanh";
  return "gates by SiLU";
}

std::string title_of(const Architecture& model) {
  const bool shares = model.llama && model.llama->key_heads < model.heads;
  return fmt::format("A trained transformer: {} of {}{}, d_model {}, {}, {}",
                     counted(model.layers, "layer"), counted(model.heads, "head"),
                     shares ? fmt::format(" ({} of keys and values)", model.llama->key_heads) : "",
                     model.d_model, counted(model.vocabulary, "token"), gate_words(model));
}

}  // namespace

Model read_model(const ModelChoice& choice) {
  const ModelFiles files = choice.built_in ? ModelFiles{} : model_files(choice.file, choice.where);
  std::optional<std::filesystem::path> directory;  // none has what is built in
  if (!choice.built_in) directory = files.directory;
  const Weights weights =
      choice.built_in ? Weights(*choice.built_in, choice.where) : Weights(files, choice.where);
  const Facts facts = facts_of(weights, directory);
  Model model;
  model.architecture = architecture_of(weights, facts, choice.architecture);
  model.title = title_of(model.architecture);
  if (const auto source = facts.find("source"); source != facts.end()) {
    model.source = source->second.text;
  }
  const std::size_t layers = choice.layers.value_or(model.architecture.layers);
  if (layers > model.architecture.layers) {
    throw InputError(fmt::format("{}: the model has {}, not {}", choice.where,
                                 counted(model.architecture.layers, "layer"), layers));
  }
  const Tokeniser tokeniser = tokeniser_of(model.architecture, facts, directory, choice.tokeniser);
  model.tokens = tokeniser.labels;
  lay_out(model, weights, tokeniser, layers,
          std::min(layers, choice.enough_layers.value_or(layers)));
  return model;
}

}  // namespace qkv
