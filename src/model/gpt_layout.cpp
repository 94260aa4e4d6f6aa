#include "model/gpt_layout.hpp"

#include <fmt/format.h>

#include "ops/catalogue.hpp"

namespace qkv {

using Storage = Family::Storage;

void GptLayout::embeddings() {
  writer_.table("token_table", size_.token_table, Axis{"id", size_.vocabulary}, true);
  writer_.table("position_table", size_.prefix + "wpe.weight", Axis{"position", size_.positions},
                false);
  writer_.step("token_embeddings", embed_operation, {"token_ids", "token_table"});
  writer_.step("position_embeddings", positions_operation, {"token_embeddings", "position_table"},
               one_word("method", "learned"));
  writer_.step("X", add_operation, {"token_embeddings", "position_embeddings"});
  writer_.flow_on("X");
}

void GptLayout::layer(std::size_t number) {
  file_ = fmt::format("{}h.{}.", size_.prefix, number);
  attention();
  mlp();
}

std::string GptLayout::norm_of_the_readout() {
  file_ = size_.prefix;
  norm("norm", "gain", "bias", "ln_f");
  return "norm";
}

void GptLayout::attention() {
  norm("norm1", "gain1", "bias1", "ln_1");
  const char* const names[] = {"Q", "K", "V"};
  for (std::size_t part = 0; part < 3; ++part) projection(names[part], part);
  writer_.step("scores", score_operation, {"Q", "K"});
  writer_.step("scaled_scores", scale_operation, {"scores"});
  writer_.step("masked_scores", mask_operation, {"scaled_scores"}, one_word("kind", "causal"));
  writer_.step("attention_weights", softmax_operation, {"masked_scores"});
  writer_.step("context", weighted_sum_operation, {"attention_weights", "V"});
  writer_.step("concat", concat_heads_operation, {"context"});
  const Axis width{"d_model", size_.d_model};
  writer_.linear("output", "concat", "O", {file_ + "attn.c_proj", {"h·d_v", size_.d_model}, width});
  writer_.add("residual1", "output");
}

void GptLayout::mlp() {
  const Axis width{"d_model", size_.d_model};
  const Axis inner{"d_mlp", size_.d_mlp};
  norm("norm2", "gain2", "bias2", "ln_2");
  writer_.linear("mlp_in", "norm2", "in", {file_ + "mlp.c_fc", width, inner});
  writer_.step("gelu", gelu_operation, {"mlp_in"}, one_word("form", size_.gelu));
  writer_.linear("mlp_out", "gelu", "out", {file_ + "mlp.c_proj", inner, width});
  writer_.add("residual2", "mlp_out");
}

// Q, K or V of all heads, side by side in one tensor. Head by head the weight is d_model × d_k,
// whichever way it is stored.
void GptLayout::projection(const std::string& name, std::size_t part) {
  const std::size_t d = size_.d_model;
  const std::size_t d_k = size_.head_width;
  const Axis heads{"head", size_.heads};
  const Axis width{name == "V" ? "d_v" : "d_k", d_k};
  const bool out_in = size_.family->storage == Storage::out_in;
  const std::size_t in_step = out_in ? 1 : 3 * d;
  const std::size_t out_step = out_in ? d : 1;
  Values weight = writer_.weights().values(file_ + "attn.c_attn.weight",
                                           out_in ? Shape{3 * d, d} : Shape{d, 3 * d},
                                           {.matrices = size_.heads,
                                            .lines = d,
                                            .width = d_k,
                                            .first = part * d * out_step,
                                            .matrix_step = d_k * out_step,
                                            .line_step = in_step,
                                            .cell_step = out_step});
  std::vector<std::string> of = {"norm1",
                                 writer_.given("W_" + name, {.axes = {heads, {"d_model", d}, width},
                                                             .values = std::move(weight)})};
  if (const std::string bias = file_ + "attn.c_attn.bias"; writer_.weights().find(bias)) {
    of.push_back(writer_.given("b_" + name, {.axes = {heads, {"", 1}, width},
                                             .values = writer_.weights().values(
                                                 bias, {3 * d}, {.width = d, .first = part * d})}));
  }
  writer_.step(name, project_operation, std::move(of));
}

void GptLayout::norm(const std::string& name, const std::string& gain, const std::string& bias,
                     const std::string& file) {
  const Axis width{"d_model", size_.d_model};
  const std::string shifts = file_ + file + ".bias";
  writer_.vector(gain, file_ + file + ".weight", width);
  if (writer_.weights().find(shifts)) {
    writer_.vector(bias, shifts, width);
  } else {
    writer_.given(bias, zeros({width}));
  }
  Options eps;
  eps.set("eps", size_.eps);
  writer_.step(name, layer_norm_operation, {writer_.stream(), gain, bias}, std::move(eps));
}

}  // namespace qkv
