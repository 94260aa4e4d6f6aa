#include "model/model.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "model/layout.hpp"
#include "text/counted.hpp"
#include "text/error.hpp"

namespace qkv {
namespace {

std::string title_of(const Architecture& model) {
  return fmt::format("A trained transformer: {} of {}, d_model {}, {}, {}",
                     counted(model.layers, "layer"), counted(model.heads, "head"), model.d_model,
                     counted(model.vocabulary, "token"),
                     model.gelu == "erf" ? "exact GELU" : "GELU by tanh");
}

}  // namespace

Model read_model(const ModelChoice& choice) {
  const Weights weights = choice.built_in ? Weights(*choice.built_in, choice.where)
                                          : Weights(choice.file, choice.where);
  const Facts facts = facts_of(weights, choice.file);
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
  const Tokeniser tokeniser =
      tokeniser_of(model.architecture, facts, choice.file, choice.tokeniser);
  lay_out(model, weights, tokeniser, layers,
          std::min(layers, choice.enough_layers.value_or(layers)));
  return model;
}

}  // namespace qkv
