#include "model/layout.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "model/words.hpp"
#include "ops/catalogue.hpp"

namespace qkv {
namespace {

using Storage = Family::Storage;

constexpr std::size_t steps_of_a_layer = 17;
constexpr std::size_t steps_of_the_readout = 3;

// Writes a model down step by step. Names within a layer have its number before them: "h0.Q".
class Layout {
 public:
  Layout(Model& model, const Weights& weights, const Tokeniser& tokeniser)
      : model_(model), size_(model.architecture), weights_(weights), tokeniser_(tokeniser) {
    model.recipe.environment.vocabulary = tokeniser.vocabulary;
  }

  void embeddings() {
    table("token_table", size_.prefix + "wte.weight", Axis{"id", size_.vocabulary}, true);
    table("position_table", size_.prefix + "wpe.weight", Axis{"position", size_.positions}, false);
    step("token_ids", tokenise_operation, {}, tokeniser_.options);
    step("token_embeddings", embed_operation, {"token_ids", "token_table"});
    step("position_embeddings", positions_operation, {"token_embeddings", "position_table"},
         one_word("method", "learned"));
    step("X", add_operation, {"token_embeddings", "position_embeddings"});
    stream_ = "X";
  }

  void layer(std::size_t number) {
    layer_ = fmt::format("h{}.", number);
    file_ = fmt::format("{}h.{}.", size_.prefix, number);
    attention();
    mlp();
    layer_.clear();
  }

  void readout() {
    file_ = size_.prefix;
    norm("norm", stream_, "gain", "bias", "ln_f");
    const bool tied = size_.unembedding == size_.prefix + "wte.weight";
    if (!tied) table("W_vocabulary", size_.unembedding, Axis{"id", size_.vocabulary}, true);
    step("logits", project_operation, {"norm", tied ? "token_table" : "W_vocabulary"},
         one_word("layout", "out-in"));
    step("probabilities", softmax_operation, {"logits"});
  }

 private:
  void attention() {
    norm("norm1", stream_, "gain1", "bias1", "ln_1");
    const char* const names[] = {"Q", "K", "V"};
    for (std::size_t part = 0; part < 3; ++part) projection(names[part], part);
    step("scores", score_operation, {"Q", "K"});
    step("scaled_scores", scale_operation, {"scores"});
    step("masked_scores", mask_operation, {"scaled_scores"}, one_word("kind", "causal"));
    step("attention_weights", softmax_operation, {"masked_scores"});
    step("context", weighted_sum_operation, {"attention_weights", "V"});
    step("concat", concat_heads_operation, {"context"});
    linear("output", "concat", "O", "attn.c_proj", {"h·d_v", size_.d_model},
           {"d_model", size_.d_model});
    add("residual1", "output");
  }

  void mlp() {
    norm("norm2", stream_, "gain2", "bias2", "ln_2");
    linear("mlp_in", "norm2", "in", "mlp.c_fc", {"d_model", size_.d_model}, {"d_mlp", size_.d_mlp});
    step("gelu", gelu_operation, {"mlp_in"}, one_word("form", size_.gelu));
    linear("mlp_out", "gelu", "out", "mlp.c_proj", {"d_mlp", size_.d_mlp},
           {"d_model", size_.d_model});
    add("residual2", "mlp_out");
  }

  // Q, K or V of all heads, side by side in one tensor. Head by head the weight is d_model × d_k,
  // whichever way it is stored.
  void projection(const std::string& name, std::size_t part) {
    const std::size_t d = size_.d_model;
    const std::size_t d_k = size_.d_k();
    const Axis heads{"head", size_.heads};
    const Axis width{name == "V" ? "d_v" : "d_k", d_k};
    const bool out_in = size_.family->storage == Storage::out_in;
    const std::size_t in_step = out_in ? 1 : 3 * d;
    const std::size_t out_step = out_in ? d : 1;
    Values weight = weights_.values(file_ + "attn.c_attn.weight", stored(d, 3 * d),
                                    {.matrices = size_.heads,
                                     .lines = d,
                                     .width = d_k,
                                     .first = part * d * out_step,
                                     .matrix_step = d_k * out_step,
                                     .line_step = in_step,
                                     .cell_step = out_step});
    std::vector<std::string> of = {
        "norm1",
        given("W_" + name, {.axes = {heads, {"d_model", d}, width}, .values = std::move(weight)})};
    if (const std::string bias = file_ + "attn.c_attn.bias"; weights_.find(bias)) {
      of.push_back(given("b_" + name, {.axes = {heads, {"", 1}, width},
                                       .values = weights_.values(
                                           bias, {3 * d}, {.width = d, .first = part * d})}));
    }
    step(name, project_operation, std::move(of));
  }

  void linear(const std::string& name, const std::string& input, const std::string& weight,
              const std::string& file, Axis in, Axis out) {
    const bool out_in = size_.family->storage == Storage::out_in;
    Values values = weights_.values(file_ + file + ".weight", stored(in.size, out.size),
                                    {.lines = in.size,
                                     .width = out.size,
                                     .line_step = out_in ? 1 : out.size,
                                     .cell_step = out_in ? in.size : 1});
    std::vector<std::string> of = {
        input, given("W_" + weight, {.axes = {in, out}, .values = std::move(values)})};
    if (const std::string bias = file_ + file + ".bias"; weights_.find(bias)) {
      of.push_back(
          given("b_" + weight, {.axes = {out}, .values = weights_.values(bias, {out.size})}));
    }
    step(name, project_operation, std::move(of));
  }

  void norm(const std::string& name, const std::string& input, const std::string& gain,
            const std::string& bias, const std::string& file) {
    const Axis width{"d_model", size_.d_model};
    const std::string shifts = file_ + file + ".bias";
    given(gain,
          {.axes = {width}, .values = weights_.values(file_ + file + ".weight", {width.size})});
    given(bias, weights_.find(shifts)
                    ? Tensor{.axes = {width}, .values = weights_.values(shifts, {width.size})}
                    : zeros({width}));
    Options eps;
    eps.set("eps", size_.eps);
    step(name, layer_norm_operation, {input, gain, bias}, std::move(eps));
  }

  void add(const std::string& name, const std::string& proposal) {
    step(name, add_operation, {stream_, proposal});
    stream_ = layer_ + name;
  }

  void table(const std::string& name, const std::string& file, Axis rows, bool of_tokens) {
    const Axis width{"d_model", size_.d_model};
    if (of_tokens) rows.labels = tokeniser_.labels;
    const Shape shape{rows.size, width.size};
    given(name, {.axes = {std::move(rows), width}, .values = weights_.values(file, shape)});
  }

  Shape stored(std::size_t in, std::size_t out) const {
    return size_.family->storage == Storage::out_in ? Shape{out, in} : Shape{in, out};
  }

  static Options one_word(std::string option, std::string word) {
    Options options;
    options.set(std::move(option), std::move(word));
    return options;
  }

  // Returns the short name, by which the layer's own steps call it.
  std::string given(const std::string& name, Tensor tensor) {
    model_.recipe.givens.push_back({layer_ + name, std::move(tensor)});
    return name;
  }

  // Operands are names of this layer, but for the stream, whose name is whole already.
  void step(const std::string& name, const Operation& operation, std::vector<std::string> of,
            Options options = {}) {
    for (std::string& operand : of) {
      if (operand != stream_) operand.insert(0, layer_);
    }
    model_.recipe.steps.push_back({layer_ + name, &operation, std::move(of), std::move(options)});
    model_.words.push_back(model_words(name));
  }

  Model& model_;
  const Architecture& size_;
  const Weights& weights_;
  const Tokeniser& tokeniser_;
  std::string layer_;   // "h0."; empty outside the layers
  std::string file_;    // how the file begins the names of this layer
  std::string stream_;  // the step that holds the stream as it is now
};

}  // namespace

void lay_out(Model& model, const Weights& weights, const Tokeniser& tokeniser, std::size_t layers,
             std::size_t enough) {
  Layout layout(model, weights, tokeniser);
  layout.embeddings();
  const bool has_readout = layers == model.architecture.layers;
  const std::size_t whole = model.recipe.steps.size() + layers * steps_of_a_layer +
                            (has_readout ? steps_of_the_readout : 0);
  for (std::size_t layer = 0; layer < enough; ++layer) layout.layer(layer);
  if (has_readout && enough == layers) layout.readout();
  model.recipe.beyond = whole - model.recipe.steps.size();
  if (enough == layers && model.recipe.beyond != 0) {
    throw std::logic_error("lay_out: a layer or the readout has other steps than were counted");
  }
}

}  // namespace qkv
