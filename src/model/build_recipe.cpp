#include "model/model.hpp"

namespace qkv::inline model {
namespace {

/// A stored weight matrix and its axes here, in × out.
struct StoredLinear {
  std::string file;  ///< tensor name without ".weight"
  Axis in;
  Axis out;
};

/// Writes a model as a recipe. Names within a layer have its number before them: "h0.Q".
struct RecipeWriter {
  Model& model;
  const Weights& weights;
  const Tokeniser& tokeniser;
  const Architecture& size = model.architecture;
  std::string layer = {};  ///< stands before the names that follow: "h0."; empty outside the layers
  std::string stream = {};  ///< the step that holds the residual stream

  /// Adds a given and returns its short name, without the layer.
  std::string given(const std::string& name, Tensor tensor) {
    model.recipe.givens.push_back({layer + name, std::move(tensor)});
    return name;
  }

  /// Operands are names of this layer, or the full name of the stream.
  void step(const std::string& name, const Operation& operation, std::vector<std::string> of,
            Options options = {}) {
    for (std::string& operand : of) {
      if (operand != stream) operand.insert(0, layer);
    }
    model.recipe.steps.push_back({layer + name, &operation, std::move(of), std::move(options)});
  }

  /// Adds the model's activation of a step and returns its name.
  std::string activation(const std::string& of) {
    const std::string& form = size.activation;
    const bool is_gelu = form == "erf" || form == "tanh";
    const std::string name = is_gelu ? "gelu" : form;
    step(name,
         is_gelu          ? gelu_operation
         : form == "relu" ? relu_operation
                          : silu_operation,
         {of}, is_gelu ? Options::of("form", form) : Options());
    return name;
  }

  /// Sets the step that holds the residual stream from here on.
  void advance_stream(const std::string& name) { stream = layer + name; }

  /// Adds the output of a part of the layer to the stream.
  void add(const std::string& name, const std::string& proposal) {
    step(name, add_operation, {stream, proposal});
    advance_stream(name);
  }

  /// Adds a table with one row per index of `rows`, labelled with the tokens if `of_tokens`.
  void table(const std::string& name, const std::string& file, Axis rows, bool of_tokens) {
    const Axis width{"d_model", size.d_model};
    if (of_tokens) rows.labels = tokeniser.labels;
    const Shape shape{rows.size, width.size};
    given(name, {.axes = {std::move(rows), width}, .values = weights.values(file, shape)});
  }

  /// Adds a linear map, with a bias if the file has one.
  void linear(const std::string& name, const std::string& input, const std::string& weight,
              const StoredLinear& stored) {
    const auto& [file, in, out] = stored;
    const bool out_in = size.family->storage == Family::Storage::out_in;
    const Shape shape = out_in ? Shape{out.size, in.size} : Shape{in.size, out.size};
    Values values = weights.values(file + ".weight", shape,
                                   {.lines = in.size,
                                    .width = out.size,
                                    .line_step = out_in ? 1 : out.size,
                                    .cell_step = out_in ? in.size : 1});
    std::vector<std::string> of = {
        input, given("W_" + weight, {.axes = {in, out}, .values = std::move(values)})};
    if (weights.find(file + ".bias")) of.push_back(vector("b_" + weight, file + ".bias", out));
    step(name, project_operation, std::move(of));
  }

  /// Adds the projection of `norm1` by the heads' weights, d_model × d_k each, with a bias if the
  /// file has one. The tensor has `outputs`, side by side: the heads' own from `first` on.
  void project_heads(const std::string& name, std::size_t heads, const std::string& file,
                     std::size_t outputs, std::size_t first) {
    const std::size_t d = size.d_model;
    const Axis count{"head", heads};
    const Axis width{name == "V" ? "d_v" : "d_k", size.head_width};
    const bool out_in = size.family->storage == Family::Storage::out_in;
    const std::size_t out_step = out_in ? d : 1;
    Values weight = weights.values(file + ".weight", out_in ? Shape{outputs, d} : Shape{d, outputs},
                                   {.matrices = heads,
                                    .lines = d,
                                    .width = width.size,
                                    .first = first * out_step,
                                    .matrix_step = width.size * out_step,
                                    .line_step = out_in ? 1 : outputs,
                                    .cell_step = out_step});
    std::vector<std::string> of = {
        "norm1",
        given("W_" + name, {.axes = {count, {"d_model", d}, width}, .values = std::move(weight)})};
    if (const std::string bias = file + ".bias"; weights.find(bias)) {
      Values values =
          weights.values(bias, {outputs}, {.width = heads * width.size, .first = first});
      of.push_back(
          given("b_" + name, {.axes = {count, {"", 1}, width}, .values = std::move(values)}));
    }
    step(name, project_operation, std::move(of));
  }

  /// Adds the steps from the masked scores to the output of attention; `file` has W_O.
  void mix_values(const std::string& file) {
    step("attention_weights", softmax_operation, {"masked_scores"});
    step("context", weighted_sum_operation, {"attention_weights", "V"});
    step("concat", concat_heads_operation, {"context"});
    linear("output", "concat", "O",
           {file, {"h·d_v", size.heads * size.head_width}, {"d_model", size.d_model}});
  }

  /// Adds a vector of the file as a given.
  std::string vector(const std::string& name, const std::string& file, Axis axis) {
    Values values = weights.values(file, {axis.size});
    return given(name, {.axes = {std::move(axis)}, .values = std::move(values)});
  }
};

/// The steps of LLaMA's relatives between token_ids and the logits: RMS norms, rotary positions,
/// shared heads of keys and values, a gated MLP.
struct LlamaRecipe {
  RecipeWriter& writer;
  const Architecture& size = writer.size;
  const LlamaParts& parts = *size.llama;
  const FamilyTraits& traits = *size.family->traits;
  std::string start = {};  ///< how the file begins the names of this layer

  void embeddings() {
    Options by = Options::of("by", 1.0);
    if (traits.scales_embeddings) by = Options::of("by", fmt::format("1/sqrt({})", size.d_model));
    writer.step("X", scale_operation, {"token_embeddings"}, by);
  }

  void layer(std::size_t number) {
    start = fmt::format("{}layers.{}.", size.prefix, number);
    attention(parts.windows[number]);
    mlp();
  }

  /// Adds the last norm, `norm`: the logits are made of it.
  void final_norm() {
    start = size.prefix;
    norm("norm", writer.stream, "gain", "norm", {"d_model", size.d_model});
  }

  void attention(std::size_t window) {
    const Axis width{"d_model", size.d_model};
    norm("norm1", writer.stream, "gain1", "input_layernorm", width);
    projection("Q", "self_attn.q_proj", size.heads);
    projection("K", "self_attn.k_proj", parts.key_heads);
    projection("V", "self_attn.v_proj", parts.key_heads);
    for (const std::string name : {"Q", "K"}) {
      if (!traits.norms_queries_and_keys) break;
      const std::string file = name == "Q" ? "self_attn.q_norm" : "self_attn.k_norm";
      norm(name + "_norm", name, "gain_" + name, file, {"d_k", size.head_width});
    }
    for (const std::string name : {"Q", "K"}) rotate(name);
    writer.step("scores", score_operation, {"Q_rope", "K_rope"});
    writer.step("scaled_scores", scale_operation, {"scores"},
                parts.score_divisor > 0 ? Options::of("by", parts.score_divisor) : Options{});
    if (parts.score_cap) {
      writer.step("capped_scores", softcap_operation, {"scaled_scores"},
                  Options::of("cap", *parts.score_cap));
    }
    Options hidden = Options::of("kind", window > 0 ? "sliding_window" : "causal");
    if (window > 0) hidden.set("width", static_cast<double>(window));
    writer.step("masked_scores", mask_operation,
                {parts.score_cap ? "capped_scores" : "scaled_scores"}, std::move(hidden));
    writer.mix_values(start + "self_attn.o_proj");
    add("residual1", "output", "norm1_out", "gain1_out", "post_attention_layernorm");
  }

  void mlp() {
    const Axis width{"d_model", size.d_model};
    const Axis inner{"d_ff", size.d_mlp};
    norm("norm2", writer.stream, "gain2",
         traits.norms_after ? "pre_feedforward_layernorm" : "post_attention_layernorm", width);
    writer.linear("gate", "norm2", "gate", {start + "mlp.gate_proj", width, inner});
    writer.linear("up", "norm2", "up", {start + "mlp.up_proj", width, inner});
    writer.step("gated", multiply_operation, {writer.activation("gate"), "up"});
    writer.linear("mlp_out", "gated", "down", {start + "mlp.down_proj", inner, width});
    add("residual2", "mlp_out", "norm2_out", "gain2_out", "post_feedforward_layernorm");
  }

  void projection(const std::string& name, const std::string& file, std::size_t heads) {
    writer.project_heads(name, heads, start + file, heads * size.head_width, 0);
  }

  void rotate(const std::string& name) {
    writer.step(name + "_rope", rope_operation,
                {traits.norms_queries_and_keys ? name + "_norm" : name}, parts.rope);
  }

  // Adds the output of a part to the stream; Gemma 2 normalises it first.
  void add(const std::string& name, const std::string& proposal, const std::string& norm_after,
           const std::string& gain, const std::string& file) {
    if (traits.norms_after) norm(norm_after, proposal, gain, file, {"d_model", size.d_model});
    writer.add(name, traits.norms_after ? norm_after : proposal);
  }

  void norm(const std::string& name, const std::string& input, const std::string& gain,
            const std::string& file, Axis width) {
    writer.vector(gain, start + file + ".weight", std::move(width));
    Options options = Options::of("eps", size.eps);
    if (traits.unit_offset) options.set("unit_offset", true);
    writer.step(name, rms_norm_operation, {input, gain}, std::move(options));
  }
};

/// The steps of GPT-2's relatives between token_ids and the logits: learned positions, layer norms,
/// GELU.
struct GptRecipe {
  RecipeWriter& writer;
  const Architecture& size = writer.size;
  std::string start = {};  ///< how the file begins the names of this layer

  void embeddings() {
    writer.table("position_table", size.prefix + "wpe.weight", Axis{"position", size.positions},
                 false);
    writer.step("position_embeddings", positions_operation, {"token_embeddings", "position_table"},
                Options::of("method", "learned"));
    writer.step("X", add_operation, {"token_embeddings", "position_embeddings"});
  }

  void layer(std::size_t number) {
    start = fmt::format("{}h.{}.", size.prefix, number);
    attention();
    mlp();
  }

  /// Adds the last norm, `norm`: the logits are made of it.
  void final_norm() {
    start = size.prefix;
    norm("norm", "gain", "bias", "ln_f");
  }

  void attention() {
    norm("norm1", "gain1", "bias1", "ln_1");
    const char* const names[] = {"Q", "K", "V"};  // of all heads, side by side in one tensor
    const std::size_t d = size.d_model;
    for (std::size_t part = 0; part < 3; ++part)
      writer.project_heads(names[part], size.heads, start + "attn.c_attn", 3 * d, part * d);
    writer.step("scores", score_operation, {"Q", "K"});
    writer.step("scaled_scores", scale_operation, {"scores"});
    writer.step("masked_scores", mask_operation, {"scaled_scores"}, Options::of("kind", "causal"));
    writer.mix_values(start + "attn.c_proj");
    writer.add("residual1", "output");
  }

  void mlp() {
    const Axis width{"d_model", size.d_model};
    const Axis inner{"d_mlp", size.d_mlp};
    norm("norm2", "gain2", "bias2", "ln_2");
    writer.linear("mlp_in", "norm2", "in", {start + "mlp.c_fc", width, inner});
    writer.linear("mlp_out", writer.activation("mlp_in"), "out",
                  {start + "mlp.c_proj", inner, width});
    writer.add("residual2", "mlp_out");
  }

  void norm(const std::string& name, const std::string& gain, const std::string& bias,
            const std::string& file) {
    const Axis width{"d_model", size.d_model};
    const std::string shifts = start + file + ".bias";
    writer.vector(gain, start + file + ".weight", width);
    if (writer.weights.find(shifts)) {
      writer.vector(bias, shifts, width);
    } else {
      writer.given(bias, zeros({width}));
    }
    writer.step(name, layer_norm_operation, {writer.stream, gain, bias},
                Options::of("eps", size.eps));
  }
};

// From the last norm to the probabilities.
void read_out(RecipeWriter& writer) {
  const Architecture& size = writer.size;
  if (!size.is_tied()) {
    writer.table("W_logits", size.unembedding, Axis{"id", size.vocabulary}, true);
  }
  writer.step("logits", project_operation, {"norm", size.is_tied() ? "token_table" : "W_logits"},
              Options::of("layout", "out-in"));
  const bool is_capped = size.llama && size.llama->logit_cap;
  if (is_capped) {
    writer.step("capped_logits", softcap_operation, {"logits"},
                Options::of("cap", *size.llama->logit_cap));
  }
  writer.step("probabilities", softmax_operation, {is_capped ? "capped_logits" : "logits"});
}

template <class Kind>
void build_recipe_as(RecipeWriter& writer, Model& model, std::size_t layers, std::size_t enough) {
  Kind kind{writer};
  const Architecture& size = model.architecture;
  writer.table("token_table", size.token_table, Axis{"id", size.vocabulary}, true);
  writer.step("token_embeddings", embed_operation, {"token_ids", "token_table"});
  kind.embeddings();
  writer.advance_stream("X");
  const std::size_t begun = model.recipe.steps.size();
  for (std::size_t layer = 0; layer < enough; ++layer) {
    writer.layer = fmt::format("h{}.", layer);
    kind.layer(layer);
    writer.layer.clear();
  }
  const bool has_readout = layers == model.architecture.layers;
  if (enough < layers) {
    const std::size_t a_layer = (model.recipe.steps.size() - begun) / enough;
    const bool has_cap = model.architecture.llama && model.architecture.llama->logit_cap;
    const std::size_t at_end = !has_readout ? 0 : has_cap ? 4 : 3;  // the steps of read_out
    model.recipe.omitted_steps = (layers - enough) * a_layer + at_end;
  } else if (has_readout) {
    kind.final_norm();
    read_out(writer);
  }
}

}  // namespace

void build_recipe(Model& model, const Weights& weights, const Tokeniser& tokeniser,
                  std::size_t layers, std::size_t enough) {
  RecipeWriter writer{model, weights, tokeniser};
  model.recipe.environment.vocabulary = tokeniser.vocabulary;
  writer.step("token_ids", tokenise_operation, {}, tokeniser.options);
  if (model.architecture.llama) {
    build_recipe_as<LlamaRecipe>(writer, model, layers, enough);
  } else {
    build_recipe_as<GptRecipe>(writer, model, layers, enough);
  }
}

}  // namespace qkv::inline model
