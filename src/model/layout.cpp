#include "model/layout_piece.hpp"

#include "model/gpt_layout.hpp"
#include "model/layout.hpp"
#include "ops/catalogue.hpp"

namespace qkv {
namespace {

// From the last norm to the probabilities.
void read_out(RecipeWriter& writer, const std::string& norm) {
  const Architecture& size = writer.size();
  if (!size.is_tied()) {
    writer.table("W_logits", size.unembedding, Axis{"id", size.vocabulary}, true);
  }
  writer.step("logits", project_operation, {norm, size.is_tied() ? "token_table" : "W_logits"},
              one_word("layout", "out-in"));
  const bool is_capped = size.llama && size.llama->logit_cap;
  if (is_capped) {
    Options options;
    options.set("cap", *size.llama->logit_cap);
    writer.step("capped_logits", softcap_operation, {"logits"}, std::move(options));
  }
  writer.step("probabilities", softmax_operation, {is_capped ? "capped_logits" : "logits"});
}

std::size_t steps_of_the_readout(const Architecture& size) {
  return size.llama && size.llama->logit_cap ? 4 : 3;
}

template <class Kind>
void lay_out_as(RecipeWriter& writer, Model& model, std::size_t layers, std::size_t enough) {
  Kind kind(writer);
  kind.embeddings();
  const std::size_t begun = model.recipe.steps.size();
  for (std::size_t layer = 0; layer < enough; ++layer) {
    writer.begin_layer(layer);
    kind.layer(layer);
    writer.end_layer();
  }
  const bool has_readout = layers == model.architecture.layers;
  if (enough < layers) {
    const std::size_t a_layer = (model.recipe.steps.size() - begun) / enough;
    model.recipe.beyond =
        (layers - enough) * a_layer + (has_readout ? steps_of_the_readout(model.architecture) : 0);
  } else if (has_readout) {
    read_out(writer, kind.norm_of_the_readout());
  }
}

}  // namespace

void lay_out(Model& model, const Weights& weights, const Tokeniser& tokeniser, std::size_t layers,
             std::size_t enough) {
  RecipeWriter writer(model, weights, tokeniser);
  writer.step("token_ids", tokenise_operation, {}, tokeniser.options);
  if (model.architecture.llama) {
    lay_out_as<LlamaLayout>(writer, model, layers, enough);
  } else {
    lay_out_as<GptLayout>(writer, model, layers, enough);
  }
}

}  // namespace qkv
