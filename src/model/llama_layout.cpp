#include "model/layout.hpp"

#include <fmt/format.h>

#include <cmath>

#include "ops/catalogue.hpp"

namespace qkv {
namespace {

Options one_number(std::string option, double number) {
  Options options;
  options.set(std::move(option), number);
  return options;
}

}  // namespace

void LlamaLayout::embeddings() {
  writer_.table("token_table", size_.token_table, Axis{"id", size_.vocabulary}, true);
  writer_.step("token_embeddings", embed_operation, {"token_ids", "token_table"});
  const double factor = kin_.scales_embeddings ? std::sqrt(static_cast<double>(size_.d_model)) : 1;
  writer_.step("X", scale_operation, {"token_embeddings"}, one_number("by", 1 / factor));
  writer_.flow_on("X");
}

void LlamaLayout::layer(std::size_t number) {
  file_ = fmt::format("{}layers.{}.", size_.prefix, number);
  attention(parts_.windows[number]);
  mlp();
}

std::string LlamaLayout::norm_of_the_readout() {
  file_ = size_.prefix;
  norm("norm", writer_.stream(), "gain", "norm", {"d_model", size_.d_model});
  return "norm";
}

void LlamaLayout::attention(std::size_t window) {
  const Axis width{"d_model", size_.d_model};
  norm("norm1", writer_.stream(), "gain1", "input_layernorm", width);
  projection("Q", "self_attn.q_proj", size_.heads);
  projection("K", "self_attn.k_proj", parts_.key_heads);
  projection("V", "self_attn.v_proj", parts_.key_heads);
  for (const std::string name : {"Q", "K"}) {
    if (!kin_.norms_queries_and_keys) break;
    const std::string file = name == "Q" ? "self_attn.q_norm" : "self_attn.k_norm";
    norm(name + "_norm", name, "gain_" + name, file, {"d_k", size_.head_width});
  }
  for (const std::string name : {"Q", "K"}) turned(name);
  writer_.step("scores", score_operation, {"Q_rope", "K_rope"});
  writer_.step("scaled_scores", scale_operation, {"scores"},
               parts_.score_divisor > 0 ? one_number("by", parts_.score_divisor) : Options{});
  if (parts_.score_cap) {
    writer_.step("capped_scores", softcap_operation, {"scaled_scores"},
                 one_number("cap", *parts_.score_cap));
  }
  Options hidden = one_word("kind", window > 0 ? "sliding_window" : "causal");
  if (window > 0) hidden.set("width", static_cast<double>(window));
  writer_.step("masked_scores", mask_operation,
               {parts_.score_cap ? "capped_scores" : "scaled_scores"}, std::move(hidden));
  writer_.step("attention_weights", softmax_operation, {"masked_scores"});
  writer_.step("context", weighted_sum_operation, {"attention_weights", "V"});
  writer_.step("concat", concat_heads_operation, {"context"});
  writer_.linear("output", "concat", "O",
                 {file_ + "self_attn.o_proj", {"h·d_v", size_.heads * size_.head_width}, width});
  add("residual1", "output", "norm1_out", "gain1_out", "post_attention_layernorm");
}

void LlamaLayout::mlp() {
  const Axis width{"d_model", size_.d_model};
  const Axis inner{"d_ff", size_.d_mlp};
  norm("norm2", writer_.stream(), "gain2",
       kin_.norms_after ? "pre_feedforward_layernorm" : "post_attention_layernorm", width);
  writer_.linear("gate", "norm2", "gate", {file_ + "mlp.gate_proj", width, inner});
  writer_.linear("up", "norm2", "up", {file_ + "mlp.up_proj", width, inner});
  const bool is_silu = parts_.gate == "silu";
  if (is_silu) {
    writer_.step("silu", silu_operation, {"gate"});
  } else {
    writer_.step("gelu", gelu_operation, {"gate"}, one_word("form", parts_.gate));
  }
  writer_.step("gated", multiply_operation, {is_silu ? "silu" : "gelu", "up"});
  writer_.linear("mlp_out", "gated", "down", {file_ + "mlp.down_proj", inner, width});
  add("residual2", "mlp_out", "norm2_out", "gain2_out", "post_feedforward_layernorm");
}

// Each head has rows of its own in the tensor: here its weight is d_model × d_k.
void LlamaLayout::projection(const std::string& name, const std::string& file, std::size_t heads) {
  const std::size_t d = size_.d_model;
  const std::size_t d_k = size_.head_width;
  const Axis count{"head", heads};
  const Axis width{name == "V" ? "d_v" : "d_k", d_k};
  Values weight = writer_.weights().values(file_ + file + ".weight", {heads * d_k, d},
                                           {.matrices = heads,
                                            .lines = d,
                                            .width = d_k,
                                            .matrix_step = d_k * d,
                                            .line_step = 1,
                                            .cell_step = d});
  std::vector<std::string> of = {"norm1",
                                 writer_.given("W_" + name, {.axes = {count, {"d_model", d}, width},
                                                             .values = std::move(weight)})};
  if (const std::string bias = file_ + file + ".bias"; writer_.weights().find(bias)) {
    of.push_back(
        writer_.given("b_" + name, {.axes = {count, {"", 1}, width},
                                    .values = writer_.weights().values(bias, {heads * d_k})}));
  }
  writer_.step(name, project_operation, std::move(of));
}

void LlamaLayout::turned(const std::string& name) {
  writer_.step(name + "_rope", rope_operation,
               {kin_.norms_queries_and_keys ? name + "_norm" : name}, parts_.rope);
}

// What a part proposes goes into the stream, in Gemma 2 through a norm of its own.
void LlamaLayout::add(const std::string& name, const std::string& proposal,
                      const std::string& norm_after, const std::string& gain,
                      const std::string& file) {
  if (kin_.norms_after) norm(norm_after, proposal, gain, file, {"d_model", size_.d_model});
  writer_.add(name, kin_.norms_after ? norm_after : proposal);
}

void LlamaLayout::norm(const std::string& name, const std::string& input, const std::string& gain,
                       const std::string& file, Axis width) {
  writer_.vector(gain, file_ + file + ".weight", std::move(width));
  Options options = one_number("eps", size_.eps);
  if (kin_.unit_offset) options.set("unit_offset", true);
  writer_.step(name, rms_norm_operation, {input, gain}, std::move(options));
}

}  // namespace qkv
